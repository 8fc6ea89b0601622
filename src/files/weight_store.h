#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace augur {

using Shape = std::vector<std::int64_t>;
std::string to_string(const Shape& shape);

/// Bytes that a tensor takes in a file. Empty when a dimension is negative, the last dimension is not whole
/// blocks, or the size, zeros counted as ones, is beyond what 64-bit arithmetic on it can hold.
std::optional<std::int64_t> storage_bytes(DType dtype, const Shape& shape);

/// Where a tensor's rows lie that are not one behind the other in its bytes (gpt-oss's experts).
struct StoredOrder {
  std::int64_t first = 0;  ///< row i (of a vector: element i) is the first + i * step-th in the bytes
  std::int64_t step = 1;
  bool columns = false;  ///< rows are columns there: [elements of a row, rows]; float types only
  /// Of MXFP4 blocks, not empty: the bytes have their values, two to a byte, the even one low; their scales
  /// are here, in the same order of rows.
  std::span<const std::byte> scales;
};

/// A named tensor inside a file, row-major (last dimension fastest), as stored.
struct StoredTensor {
  std::string name;  ///< Hugging Face's name, whatever the file format calls it
  DType dtype = DType::F32;
  Shape shape;
  std::span<const std::byte> bytes;  ///< in the mapped file; valid while the WeightStore lives
  /// llama.cpp stores q/k rows with the rotary halves interleaved; > 0: the number of heads over which
  /// read_rows() undoes that.
  int interleaved_heads = 0;
  /// What the file format added to all values, for read_rows() to take off: Gemma's norms are stored as what
  /// they multiply by, Hugging Face's by 1 less.
  float offset = 0.0f;
  StoredOrder order;
  std::string slice_of;  ///< the tensor of which this is a slice (WeightStore::split); empty: none
  std::string file;      ///< for messages

  /// Whether `bytes` are the rows as read_rows() gives them, but for the type.
  bool as_is() const {
    return interleaved_heads == 0 && offset == 0.0f && order.step == 1 && !order.columns &&
           order.scales.empty();
  }
};

/// Any file format -> typed, shaped, named views. Files are memory-mapped; nothing is converted until read.
/// Opening checks every header field, offset and size against the file and throws Error naming the file and
/// the tensor. Reading is thread-safe.
class WeightStore {
 public:
  virtual ~WeightStore() = default;

  /// All tensors by name.
  const std::map<std::string, StoredTensor, std::less<>>& tensors() const { return tensors_; }
  const StoredTensor* find(std::string_view name) const;
  /// The tensor, checked: Error naming file, tensor, what was found and what was expected when it is missing
  /// or its shape differs. A matrix of one row may stand for a vector.
  const StoredTensor& require(std::string_view name, const Shape& shape) const;

  /// Some rows of a tensor (of three dimensions: matrices), under a name of their own.
  struct Slice {
    std::string name;
    std::int64_t rows = 0;
  };
  /// Replaces a tensor by its slices, in order; nothing happens where they are not exactly what it has, or
  /// one of their names is taken.
  void split(const std::string& name, std::span<const Slice> slices);
  /// Takes the tensors `names` out and puts `parts` in. Error where there is one of a part's name.
  void replace(std::span<const std::string> names, std::vector<StoredTensor> parts);
  /// A tensor that was split, as it is in the file; null: none of this name.
  const StoredTensor* whole(std::string_view name) const;

  /// Error listing the tensors that are not in `used` and do not match an ignorable suffix.
  void check_leftovers(std::span<const std::string> used, std::span<const std::string_view> ignorable) const;

  const std::string& description() const { return description_; }  ///< the path, for messages
  /// Names what the tensors hold: stores of one identity have the same bytes under the same names. Empty: it
  /// is not known.
  const std::string& identity() const { return identity_; }
  /// What else decides which tensors there are becomes a part of the identity.
  void distinguish(std::string_view by) {
    if (!identity_.empty()) identity_.append("\n").append(by);
  }

 protected:
  std::map<std::string, StoredTensor, std::less<>> tensors_;
  std::map<std::string, StoredTensor, std::less<>> wholes_;
  std::string description_;
  std::string identity_;
};

/// Dequantises / converts rows [first, first + count) of a matrix (or a whole vector: first = 0, count = 1)
/// to float32 in Hugging Face's row order. out[count * row length]. Error for integer types.
void read_rows(const StoredTensor& tensor, std::int64_t first, std::int64_t count, float* out);
/// A matrix's row as stored, Hugging Face's row order; whole blocks. In the file, or put together in
/// `scratch`: valid until that changes. Error for a row that is not there.
std::span<const std::byte> stored_row(const StoredTensor& tensor, std::int64_t row,
                                      std::vector<std::byte>& scratch);

}  // namespace augur
