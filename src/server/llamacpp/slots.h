#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "augur/options.h"
#include "augur/session.h"

namespace augur {

/// Which requests are being decoded, by place in the batch. Thread-safe.
class Slots {
 public:
  struct Work {
    std::int64_t task = 0;  ///< requests are numbered as they begin
    std::int64_t prompt_tokens = 0;
    std::int64_t decoded = 0;
    TextOwner owner;
  };

  /// The place of a request that has begun: the wanted one where it is free and one of `places`, otherwise
  /// the lowest that is.
  int occupy(std::int64_t prompt_tokens, TextOwner owner, int wanted = -1, int places = 0);
  void decoded(int slot);
  /// Its request has ended with these tokens, prompt and answer; none: they are not to be kept.
  void free(int slot, std::vector<TokenId> text);
  /// Of the request that has ended there last; nothing while one is decoded there, or before one was.
  std::optional<std::vector<TokenId>> text(int slot) const;
  /// Of the request that is decoded there, or was last; nothing before the first.
  std::optional<TextOwner> owner(int slot) const;
  /// By place; as many as were ever taken, or wanted.
  std::vector<std::optional<Work>> list() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::optional<Work>> work_;
  struct Text {
    std::vector<TokenId> tokens;
    TextOwner owner;
  };
  std::vector<std::optional<Text>> texts_;  ///< by place
  std::int64_t tasks_ = 0;
};

}  // namespace augur
