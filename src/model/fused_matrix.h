#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/backend.h"
#include "kernels/packed_matrix.h"

namespace augur {

/// Matrices that read the same rows, as one product: their rows one after the other. Parts are there for the
/// sake of types only: a file may store queries and keys in 4 bits and values in 6. All but the last have
/// whole panels of rows, and all take their inputs in one form. Immutable after loading.
class FusedMatrix {
 public:
  std::vector<PackedMatrix> parts;

  InputForm input_form() const { return parts.front().input_form(); }
  std::int64_t k() const { return parts.front().k(); }
  std::int64_t panels() const { return sum(&PackedMatrix::panels); }
  std::int64_t bytes() const { return sum(&PackedMatrix::bytes); }

  /// The product's panels [panels.begin, panels.end); `call` as for one matrix with all rows, its weight
  /// unset.
  void multiply(const KernelSet& kernels, GemmCall call, Range panels) const {
    std::int64_t first = 0;
    for (const PackedMatrix& part : parts) {
      const Range mine{std::max(panels.begin - first, std::int64_t{0}),
                       std::min(panels.end - first, part.panels())};
      if (mine.size() > 0) {
        call.weight = &part;
        kernels.gemm(call, mine);
      }
      first += part.panels();
      call.y += part.panels() * PackedMatrix::kPanel;
      if (call.bias != nullptr) call.bias += part.panels() * PackedMatrix::kPanel;
    }
  }

 private:
  std::int64_t sum(std::int64_t (PackedMatrix::*of)() const) const {
    std::int64_t total = 0;
    for (const PackedMatrix& part : parts) total += (part.*of)();
    return total;
  }
};

}  // namespace augur
