#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "kernels/backend.h"

namespace augur {

/// What products with a matrix [n, k] of each type cost on this machine: of one row and of four, as a level
/// of a draft has them, added up, in ms of wall time; the least of several. The types take turns, so that
/// what disturbs the machine disturbs them alike. Takes some ten milliseconds.
std::vector<double> product_ms(Backend& backend, std::span<const DType> types, std::int64_t n,
                               std::int64_t k);

}  // namespace augur
