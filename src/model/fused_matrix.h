#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/backend.h"
#include "kernels/packed_matrix.h"

namespace augur {

/// Matrices that read the same rows, as one product: their rows one after the other. There are several for
/// the sake of types only: a file may store queries and keys in 4 bits and values in 6. All but the last have
/// whole panels of rows, and all take their inputs in one form. Immutable after loading.
class FusedMatrix {
 public:
  std::vector<PackedMatrix> matrices;

  InputForm input_form() const { return matrices.front().input_form(); }
  std::int64_t k() const { return matrices.front().k(); }
  std::int64_t panels() const { return sum(&PackedMatrix::panels); }
  std::int64_t bytes() const { return sum(&PackedMatrix::bytes); }

  /// The product's panels [panels.begin, panels.end); `call` as for one matrix with all rows, its weight
  /// unset.
  void multiply(const KernelSet& kernels, GemmCall call, Range panels) const {
    std::int64_t first = 0;
    for (const PackedMatrix& matrix : matrices) {
      const Range mine{std::max(panels.begin - first, std::int64_t{0}),
                       std::min(panels.end - first, matrix.panels())};
      if (mine.size() > 0) {
        call.weight = &matrix;
        kernels.gemm(call, mine);
      }
      first += matrix.panels();
      call.y += matrix.panels() * PackedMatrix::kPanel;
      if (call.bias != nullptr) call.bias += matrix.panels() * PackedMatrix::kPanel;
    }
  }

 private:
  std::int64_t sum(std::int64_t (PackedMatrix::*of)() const) const {
    std::int64_t total = 0;
    for (const PackedMatrix& matrix : matrices) total += (matrix.*of)();
    return total;
  }
};

}  // namespace augur
