#include "files/weight_store.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <set>

#include "base/error.h"
#include "files/gguf/dequantize.h"

namespace augur {

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::optional<std::int64_t> storage_bytes(DType dtype, const Shape& shape) {
  const BlockShape block = block_shape(dtype);
  const std::int64_t row = shape.empty() ? 1 : shape.back();
  if (row % block.elements != 0) return std::nullopt;
  // Zeros are counted as ones first: the size of a part of the tensor must not overflow either.
  std::int64_t bytes = block.bytes;
  bool empty = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t units = i + 1 == shape.size() ? shape[i] / block.elements : shape[i];
    if (shape[i] < 0 || __builtin_mul_overflow(bytes, std::max<std::int64_t>(units, 1), &bytes) ||
        bytes > std::numeric_limits<std::int64_t>::max() / block.elements) {
      return std::nullopt;
    }
    empty = empty || shape[i] == 0;
  }
  return empty ? 0 : bytes;
}

const StoredTensor* WeightStore::find(std::string_view name) const {
  const auto it = tensors_.find(name);
  return it == tensors_.end() ? nullptr : &it->second;
}

const StoredTensor& WeightStore::require(std::string_view name, const Shape& shape) const {
  const StoredTensor* tensor = find(name);
  if (tensor == nullptr) {
    throw Error("{}: tensor {} is missing (expected shape {})", description_, name, to_string(shape));
  }
  const std::span<const std::int64_t> found = tensor->shape;
  const bool one_row = found.size() == 2 && found.front() == 1 && shape.size() == 1;
  if (!std::equal(shape.begin(), shape.end(), found.begin() + (one_row ? 1 : 0), found.end())) {
    throw Error("{}: tensor {}: expected shape {}, found {}", tensor->file, name, to_string(shape),
                to_string(tensor->shape));
  }
  return *tensor;
}

void WeightStore::split(const std::string& name, std::span<const Slice> slices) {
  const auto it = tensors_.find(name);
  if (it == tensors_.end() || it->second.shape.empty()) return;
  const StoredTensor& tensor = it->second;
  std::int64_t rows = 0;
  for (const Slice& slice : slices) {
    if (slice.rows < 1 || slice.rows > tensor.shape[0] ||
        (slice.name != name && tensors_.contains(slice.name)))
      return;
    rows += slice.rows;
  }
  if (rows != tensor.shape[0] || tensor.interleaved_heads > 0) return;

  const StoredTensor whole = std::move(it->second);
  tensors_.erase(it);
  const std::size_t row_bytes = whole.bytes.size() / static_cast<std::size_t>(rows);
  std::size_t at = 0;
  for (const Slice& slice : slices) {
    StoredTensor piece = whole;
    piece.name = slice.name;
    piece.slice_of = name;
    const bool elements = whole.shape.size() == 2 && name.ends_with(".bias");  // of one vector for each slice
    if ((whole.shape.size() == 3 || elements) && slice.rows == 1) {
      piece.shape.erase(piece.shape.begin());
    } else {
      piece.shape[0] = slice.rows;
    }
    const std::size_t bytes = static_cast<std::size_t>(slice.rows) * row_bytes;
    piece.bytes = whole.bytes.subspan(at, bytes);
    at += bytes;
    tensors_.emplace(slice.name, std::move(piece));
  }
  wholes_.emplace(name, whole);
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): what is in `parts` is moved out of it
void WeightStore::replace(std::span<const std::string> names, std::vector<StoredTensor> parts) {
  for (const std::string& name : names) tensors_.erase(name);
  for (StoredTensor& part : parts) {
    std::string key = part.name;
    const auto [other, fresh] = tensors_.try_emplace(std::move(key), std::move(part));
    if (!fresh) throw Error("{}: tensor {} is there twice", description_, other->first);
  }
}

const StoredTensor* WeightStore::whole(std::string_view name) const {
  const auto it = wholes_.find(name);
  return it == wholes_.end() ? nullptr : &it->second;
}

void WeightStore::check_leftovers(std::span<const std::string> used,
                                  std::span<const std::string_view> ignorable) const {
  const std::set<std::string_view> known(used.begin(), used.end());
  std::string names;
  int count = 0;
  for (const auto& entry : tensors_) {
    const auto& [tensor_name, tensor] = entry;
    const auto ends_with = [&](std::string_view suffix) { return entry.first.ends_with(suffix); };
    if (known.contains(tensor_name) || std::any_of(ignorable.begin(), ignorable.end(), ends_with)) continue;
    constexpr int kNamed = 5;
    if (++count <= kNamed)
      names += fmt::format("{}{} (in {})", count > 1 ? ", " : "", tensor_name, tensor.file);
    if (count == kNamed + 1) names += ", ...";
  }
  if (count > 0)
    throw Error("{}: {} tensor(s) left over that the model has no use for: {}", description_, count, names);
}

namespace {

/// Elements of one row: everything behind the first dimension; a vector is one row.
std::int64_t row_length(const StoredTensor& tensor) {
  std::int64_t length = 1;
  for (std::size_t i = tensor.shape.size() > 1 ? 1 : 0; i < tensor.shape.size(); ++i)
    length *= tensor.shape[i];
  return length;
}

/// Where llama.cpp stores row `row`: within each head of `size` rows, half 0's row i is stored at 2i and
/// half 1's at 2i + 1.
std::int64_t interleaved_row(std::int64_t row, std::int64_t size) {
  const std::int64_t within = row % size;
  const std::int64_t half = size / 2;
  return row - within + within % half * 2 + within / half;
}

/// A row of MXFP4 blocks as GGUF has them: a block's scale, then its elements 0 to 15 in the low halves of 16
/// bytes and 16 to 31 in the high ones.
void join_mxfp4(std::span<const std::byte> values, std::span<const std::byte> scales,
                std::vector<std::byte>& out) {
  constexpr std::size_t kBytes = 16;
  out.resize(scales.size() * (kBytes + 1));
  std::byte* to = out.data();
  for (std::size_t block = 0; block < scales.size(); ++block) {
    const auto value = [&](std::size_t i) {
      return values[block * kBytes + i / 2] >> (4 * (i % 2)) & std::byte{15};
    };
    *to++ = scales[block];
    for (std::size_t i = 0; i < kBytes; ++i) *to++ = value(i) | value(kBytes + i) << 4;
  }
}

/// Rows of a matrix, or elements of a vector, that are columns in the file, or a part of its elements.
void read_columns(const StoredTensor& tensor, std::int64_t first, std::int64_t count, std::int64_t length,
                  float* out) {
  const StoredOrder& at = tensor.order;
  const std::int64_t element = block_shape(tensor.dtype).bytes;
  const std::int64_t stride = std::ssize(tensor.bytes) / element / length;
  const std::int64_t begin = at.first + first * at.step;
  const std::int64_t span = (count - 1) * at.step + 1;
  std::vector<float> values(static_cast<std::size_t>(span));
  for (std::int64_t i = 0; i < length; ++i) {
    dequantize(tensor.dtype, tensor.bytes.data() + (i * stride + begin) * element, span, values.data());
    for (std::int64_t r = 0; r < count; ++r) {
      out[r * length + i] = values[static_cast<std::size_t>(r * at.step)];
    }
  }
}

/// Rows that do not lie as they are read.
void read_ordered_rows(const StoredTensor& tensor, std::int64_t first, std::int64_t count,
                       std::int64_t length, float* out) {
  if (tensor.shape.size() < 2) return read_columns(tensor, 0, count * length, 1, out);
  if (tensor.order.columns) return read_columns(tensor, first, count, length, out);
  std::vector<std::byte> scratch;
  for (std::int64_t i = 0; i < count; ++i) {
    dequantize(tensor.dtype, stored_row(tensor, first + i, scratch).data(), length, out + i * length);
  }
}

}  // namespace

std::span<const std::byte> stored_row(const StoredTensor& tensor, std::int64_t row,
                                      std::vector<std::byte>& scratch) {
  if (tensor.shape.size() < 2 || row < 0 || row >= tensor.shape[0]) {
    throw Error(ErrorKind::Internal, "{}: tensor {}: row {} of shape {} asked for", tensor.file, tensor.name,
                row, to_string(tensor.shape));
  }
  const BlockShape block = block_shape(tensor.dtype);
  const auto blocks = static_cast<std::size_t>(row_length(tensor) / block.elements);
  const std::size_t bytes = blocks * static_cast<std::size_t>(block.bytes);
  const StoredOrder& at = tensor.order;
  assert(!at.columns);
  const auto placed = static_cast<std::size_t>(at.first + row * at.step);
  if (!at.scales.empty()) {
    const std::size_t values = bytes - blocks;  // without the scales
    join_mxfp4(tensor.bytes.subspan(placed * values, values), at.scales.subspan(placed * blocks, blocks),
               scratch);
    return scratch;
  }
  if (at.step != 1) return tensor.bytes.subspan(placed * bytes, bytes);
  if (tensor.interleaved_heads > 0) row = interleaved_row(row, tensor.shape[0] / tensor.interleaved_heads);
  return tensor.bytes.subspan(static_cast<std::size_t>(row) * bytes, bytes);
}

void read_rows(const StoredTensor& tensor, std::int64_t first, std::int64_t count, float* out) {
  const bool is_vector = tensor.shape.size() < 2;
  const std::int64_t rows = is_vector ? 1 : tensor.shape[0];
  const std::int64_t length = row_length(tensor);
  if (first < 0 || count < 0 || count > rows || first > rows - count) {
    throw Error(ErrorKind::Internal, "{}: tensor {}: {} rows from row {} asked for, it has {}", tensor.file,
                tensor.name, count, first, rows);
  }
  const BlockShape block = block_shape(tensor.dtype);
  const std::byte* bytes = tensor.bytes.data();
  const std::int64_t row_bytes = length / block.elements * block.bytes;
  try {
    const StoredOrder& at = tensor.order;
    if (at.step != 1 || at.columns || !at.scales.empty()) {
      if (count * length > 0) read_ordered_rows(tensor, first, count, length, out);
    } else if (tensor.interleaved_heads == 0) {
      dequantize(tensor.dtype, bytes + first * row_bytes, count * length, out);
    } else if (is_vector) {  // a bias: its elements are permuted as the rows of its matrix are
      std::vector<float> stored(static_cast<std::size_t>(length));
      dequantize(tensor.dtype, bytes, length, stored.data());
      for (std::int64_t i = 0; count == 1 && i < length; ++i) {
        out[i] = stored[static_cast<std::size_t>(interleaved_row(i, length / tensor.interleaved_heads))];
      }
    } else {
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t stored = interleaved_row(first + i, rows / tensor.interleaved_heads);
        dequantize(tensor.dtype, bytes + stored * row_bytes, length, out + i * length);
      }
    }
  } catch (const Error& e) {
    throw Error(e.cause(), "{}: tensor {}: {}", tensor.file, tensor.name, e.what());
  }
  if (tensor.offset == 0.0f) return;
  for (std::int64_t i = 0; i < count * length; ++i) out[i] -= tensor.offset;
}

}  // namespace augur
