#pragma once
#include <cstdint>

namespace augur {

// Bounds of what config.json may say: far above every published model, and small enough that no product of
// them overflows 63 bits.
constexpr std::int64_t kMaxLayers = 4096;
constexpr std::int64_t kMaxHidden = 1 << 17;
constexpr std::int64_t kMaxIntermediate = 1 << 20;
constexpr std::int64_t kMaxHeads = 4096;
constexpr std::int64_t kMaxHeadDim = 1024;
constexpr std::int64_t kMaxVocab = 1 << 24;
constexpr std::int64_t kMaxContext = std::int64_t{1} << 30;
constexpr std::int64_t kMaxExperts = 1024;
constexpr std::int64_t kMaxActiveExperts = 64;
constexpr std::int64_t kMaxTaps = 64;  ///< of a short convolution
constexpr double kMaxTheta = 1e15;
constexpr double kMaxFactor = 1e6;  ///< of rotary scaling
constexpr double kMinScale = 1e-6;  ///< of embeddings, residuals, scores and logits, and of their caps
constexpr double kMaxScale = 1e6;

}  // namespace augur
