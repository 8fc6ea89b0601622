#include "lab/train/target_memory.h"

namespace augur {

namespace {
/// With every stream in `type`.
TorchLlama::Output in(torch::Dtype type, TorchLlama::Output output) {
  for (torch::Tensor& tap : output.taps) tap = tap.to(type);
  output.last = output.last.to(type);
  return output;
}

std::int64_t bytes_of(const TorchLlama::Output& output) {
  auto bytes = static_cast<std::int64_t>(output.last.nbytes() + output.favourites.nbytes());
  for (const torch::Tensor& tap : output.taps) bytes += static_cast<std::int64_t>(tap.nbytes());
  return bytes;
}
}  // namespace

TorchLlama::Output TargetMemory::rounded(TorchLlama::Output output) {
  return in(torch::kFloat32, in(torch::kBFloat16, std::move(output)));
}

std::optional<TorchLlama::Output> TargetMemory::find(std::span<const TokenId> tokens,
                                                     std::span<const int> taps) const {
  const Key key{{tokens.begin(), tokens.end()}, {taps.begin(), taps.end()}};
  const std::lock_guard lock(mutex_);
  const auto found = outputs_.find(key);
  if (found == outputs_.end()) return std::nullopt;
  return in(torch::kFloat32, found->second);
}

void TargetMemory::keep(std::span<const TokenId> tokens, std::span<const int> taps,
                        const TorchLlama::Output& output) {
  TorchLlama::Output kept = in(torch::kBFloat16, output);
  const std::int64_t bytes = bytes_of(kept);
  Key key{{tokens.begin(), tokens.end()}, {taps.begin(), taps.end()}};
  const std::lock_guard lock(mutex_);
  if (bytes > bytes_) return;
  if (outputs_.try_emplace(std::move(key), std::move(kept)).second) bytes_ -= bytes;
}

}  // namespace augur
