#pragma once
#include <cassert>
#include <cstdint>
#include <memory>
#include <span>

#include "base/dtype.h"
#include "kernels/input_form.h"
#include "kernels/weight_arena.h"

namespace augur {

/// The weight W[n, k] of y = x W^T, packed once at load into panels of 16 output rows ("columns" of y):
///   BF16: [panel][k/2][16][2]   pairs of k side by side, as the dot-product instructions want them
///   F32:  [panel][k][16]
///   block-quantised types: see cpu/quant_format.h; the stored numbers, none of them rounded anew
///
/// In BF16, W[row, k] being "row,k":
///
///             column 0      column 1              column 15
///           +-------------+-------------+-     -+-------------+
///   k 0, 1  |  0,0   0,1  |  1,0   1,1  |  ...  | 15,0  15,1  |  a line: 64 bytes, one register
///   k 2, 3  |  0,2   0,3  |  1,2   1,3  |  ...  | 15,2  15,3  |
///     ...   |             |             |       |             |  panel 0
///           +-------------+-------------+-     -+-------------+
///   k 0, 1  | 16,0  16,1  | 17,0  17,1  |  ...  | 31,0  31,1  |
///     ...   |             |             |       |             |  panel 1
///
/// n and k are padded with zeros (n to 16; k to 32, quantised to 64, MXFP4 128 or, K types, 256), so kernels
/// have no tails over k. Every variant of the kernels reads this one layout. Immutable after loading; safe to
/// read from any thread.
class PackedMatrix {
 public:
  static constexpr std::int64_t kPanel = 16;
  static constexpr std::int64_t kKGrain = 32;

  PackedMatrix() = default;
  /// All zeros. `type` is F32, BF16 or one that quant_kind() knows (k in whole blocks of it), otherwise
  /// Error; so is n or k < 1.
  PackedMatrix(DType type, std::int64_t n, std::int64_t k);
  /// The same, in memory of `arena`, which need not live on.
  PackedMatrix(DType type, std::int64_t n, std::int64_t k, WeightArena& arena);
  PackedMatrix(PackedMatrix&&) noexcept = default;
  PackedMatrix& operator=(PackedMatrix&&) noexcept = default;

  /// Fills rows [first, first + values.size() / k) from row-major float32, rounding to the stored type
  /// (quantised: as quantize_blocks() does).
  void set_rows(std::int64_t first, std::span<const float> values);
  /// The same of a quantised matrix from rows as GGUF stores them. Rows are filled once.
  void set_stored_rows(std::int64_t first, std::span<const std::byte> rows);
  /// Row `to` becomes a copy, bit for bit, of a row of a matrix of the same type and k. Rows may be copied
  /// again and again, by different threads in different panels.
  void copy_row(std::int64_t to, const PackedMatrix& from, std::int64_t row);
  /// Row `row` back as float32 (what the products see): an embedding look-up. out[k].
  void get_row(std::int64_t row, float* out) const;

  /// The same matrix with its numbers at `data` [bytes()], where a device keeps a copy of them. Whether
  /// panel() then is a pointer that the host may follow is the device's to say.
  PackedMatrix at(std::shared_ptr<std::byte> data) const;
  /// The numbers' memory, so that at() can give them to another matrix of this type and shape. None of the
  /// two is to be filled any more.
  const std::shared_ptr<std::byte>& data() const { return data_; }

  DType type() const { return type_; }
  std::int64_t n() const { return n_; }
  std::int64_t k() const { return k_; }
  bool quantized() const { return type_ != DType::F32 && type_ != DType::BF16; }
  /// From now on products with this quantised matrix take x in 16 bits instead of 8, at the cost of twice the
  /// multiplications.
  void take_fine_rows() {
    assert(quantized());
    fine_ = true;
  }
  bool fine() const { return fine_; }
  /// What products take the rows of x in.
  InputForm input_form() const {
    if (quantized()) return fine_ ? InputForm::Blocks16 : InputForm::Blocks8;
    return type_ == DType::BF16 ? InputForm::BF16 : InputForm::F32;
  }
  std::int64_t padded_k() const;
  std::int64_t steps() const;  ///< of a panel, as GemmTask counts them
  std::int64_t panels() const { return (n_ + kPanel - 1) / kPanel; }
  std::int64_t panel_bytes() const;
  std::int64_t bytes() const { return panels() * panel_bytes(); }
  const std::byte* panel(std::int64_t p) const { return data_.get() + p * panel_bytes(); }

 private:
  DType type_ = DType::F32;
  std::int64_t n_ = 0;
  std::int64_t k_ = 0;
  bool fine_ = false;
  std::shared_ptr<std::byte> data_;  ///< while it is filled not shared with other matrices; its area may be
};

}  // namespace augur
