#pragma once
#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace augur {

/// True for the types that quantize_blocks() makes.
bool can_quantize(DType type);

/// Float32 values to blocks as GGUF stores them: one of the types that products take (quant_kind()),
/// otherwise Error; so is a value that is not finite, and a block whose scale or minimum would leave the
/// range of F16 (MXFP4: of what products take). `count`: whole blocks.
///
/// Scales are those that represent the values of their block with the least squared error found in a short
/// search: around max |x| (symmetric types) or max - min (types with a minimum), and for Q8_0 among
/// max |x| / c, c = 64..127; for MXFP4 among three powers of two. `importance` [count], none of it negative,
/// weighs the squares: with the mean square of what a weight is multiplied with it is the error of the
/// product that becomes least (llama.cpp's importance matrix). Null: all weigh the same.
void quantize_blocks(DType type, const float* values, std::int64_t count, std::byte* out,
                     const float* importance = nullptr);

}  // namespace augur
