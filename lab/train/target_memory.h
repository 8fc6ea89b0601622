#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/types.h"
#include "lab/train/torch_llama.h"

namespace augur {

/// What a frozen target said about sequences seen before, up to a number of bytes: later epochs skip its
/// forward pass. Streams are kept in bfloat16, to which products round them anyway; so that a visit does not
/// depend on what is remembered, those of the first one are rounded, too. Safe to use from several threads.
class TargetMemory {
 public:
  explicit TargetMemory(std::int64_t bytes) : bytes_(bytes) {}

  /// What find() will give of an output.
  static TorchLlama::Output rounded(TorchLlama::Output output);
  std::optional<TorchLlama::Output> find(std::span<const TokenId> tokens, std::span<const int> taps) const;
  /// Forgets nothing: when there is no room it keeps what it has.
  void keep(std::span<const TokenId> tokens, std::span<const int> taps, const TorchLlama::Output& output);

 private:
  using Key = std::pair<std::vector<TokenId>, std::vector<int>>;

  mutable std::mutex mutex_;
  std::int64_t bytes_;
  std::map<Key, TorchLlama::Output> outputs_;
};

}  // namespace augur
