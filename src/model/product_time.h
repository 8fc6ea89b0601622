#pragma once
#include <cstdint>

#include "base/dtype.h"
#include "kernels/backend.h"

namespace augur {

/// What products with a matrix [n, k] of that type cost on this machine: of one row and of four, as a level
/// of a draft has them, added up, in ms of wall time; the least of several. Takes some milliseconds.
double product_ms(Backend& backend, DType type, std::int64_t n, std::int64_t k);

}  // namespace augur
