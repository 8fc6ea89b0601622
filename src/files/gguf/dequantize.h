#pragma once
#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace augur {

/// Expands `count` elements (a multiple of the type's block) stored at `bytes`, which need not be aligned, to
/// float32. GGUF's block formats give bit for bit what the `gguf` Python package's dequantize() gives: every
/// product and sum is rounded on its own. Error for integer types.
void dequantize(DType type, const std::byte* bytes, std::int64_t count, float* out);

}  // namespace augur
