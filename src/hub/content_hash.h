#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace augur {

/// Takes a file's content piece by piece and says its hash. Not thread-safe.
class ContentHash {
 public:
  /// Of the kind that `like`, which is_content_hash(), is, for a file of `bytes`.
  ContentHash(std::string_view like, std::uint64_t bytes);
  ~ContentHash();
  ContentHash(const ContentHash&) = delete;
  ContentHash& operator=(const ContentHash&) = delete;

  void add(std::span<const std::byte> bytes);
  /// Once, at the end.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace augur
