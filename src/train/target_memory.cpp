#include "train/target_memory.h"

namespace augur {

namespace {
std::int64_t bytes_of(const TorchLlama::Output& output) {
  auto bytes = static_cast<std::int64_t>(output.last.nbytes() + output.favourites.nbytes());
  for (const torch::Tensor& tap : output.taps) bytes += static_cast<std::int64_t>(tap.nbytes());
  return bytes;
}
}  // namespace

std::optional<TorchLlama::Output> TargetMemory::find(std::span<const TokenId> tokens,
                                                     std::span<const int> taps) const {
  const Key key{{tokens.begin(), tokens.end()}, {taps.begin(), taps.end()}};
  const std::lock_guard lock(mutex_);
  const auto found = outputs_.find(key);
  return found == outputs_.end() ? std::nullopt : std::optional(found->second);
}

void TargetMemory::keep(std::span<const TokenId> tokens, std::span<const int> taps,
                        const TorchLlama::Output& output) {
  const std::int64_t bytes = bytes_of(output);
  const std::lock_guard lock(mutex_);
  if (bytes > bytes_) return;
  if (outputs_.try_emplace({{tokens.begin(), tokens.end()}, {taps.begin(), taps.end()}}, output).second)
    bytes_ -= bytes;
}

}  // namespace augur
