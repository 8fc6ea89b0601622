#include "io/weight_store.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/error.h"
#include "io/gguf/dequantize.h"

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

void WeightStore::split(const std::string& name, std::span<const Part> parts) {
  const auto it = tensors_.find(name);
  if (it == tensors_.end() || it->second.shape.empty()) return;
  const StoredTensor& tensor = it->second;
  std::int64_t rows = 0;
  for (const Part& part : parts) {
    if (part.rows < 1 || part.rows > tensor.shape[0] || (part.name != name && tensors_.contains(part.name)))
      return;
    rows += part.rows;
  }
  if (rows != tensor.shape[0] || tensor.interleaved_heads > 0) return;

  const StoredTensor whole = std::move(it->second);
  tensors_.erase(it);
  const std::size_t row_bytes = whole.bytes.size() / static_cast<std::size_t>(rows);
  std::size_t at = 0;
  for (const Part& part : parts) {
    StoredTensor piece = whole;
    piece.name = part.name;
    piece.part_of = name;
    const bool elements = whole.shape.size() == 2 && name.ends_with(".bias");  // of one vector for each part
    if ((whole.shape.size() == 3 || elements) && part.rows == 1) {
      piece.shape.erase(piece.shape.begin());
    } else {
      piece.shape[0] = part.rows;
    }
    const std::size_t bytes = static_cast<std::size_t>(part.rows) * row_bytes;
    piece.bytes = whole.bytes.subspan(at, bytes);
    at += bytes;
    tensors_.emplace(part.name, std::move(piece));
  }
  wholes_.emplace(name, whole);
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

}  // namespace

std::span<const std::byte> stored_row(const StoredTensor& tensor, std::int64_t row) {
  if (tensor.shape.size() < 2 || row < 0 || row >= tensor.shape[0]) {
    throw Error("{}: tensor {}: row {} of shape {} asked for", tensor.file, tensor.name, row,
                to_string(tensor.shape));
  }
  const BlockShape block = block_shape(tensor.dtype);
  const auto bytes = static_cast<std::size_t>(row_length(tensor) / block.elements * block.bytes);
  if (tensor.interleaved_heads > 0) row = interleaved_row(row, tensor.shape[0] / tensor.interleaved_heads);
  return tensor.bytes.subspan(static_cast<std::size_t>(row) * bytes, bytes);
}

void read_rows(const StoredTensor& tensor, std::int64_t first, std::int64_t count, float* out) {
  const bool is_vector = tensor.shape.size() < 2;
  const std::int64_t rows = is_vector ? 1 : tensor.shape[0];
  const std::int64_t length = row_length(tensor);
  if (first < 0 || count < 0 || count > rows || first > rows - count) {
    throw Error("{}: tensor {}: {} rows from row {} asked for, it has {}", tensor.file, tensor.name, count,
                first, rows);
  }
  const BlockShape block = block_shape(tensor.dtype);
  const std::byte* bytes = tensor.bytes.data();
  const std::int64_t row_bytes = length / block.elements * block.bytes;
  try {
    if (tensor.interleaved_heads == 0) {
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
    throw Error("{}: tensor {}: {}", tensor.file, tensor.name, e.what());
  }
  if (tensor.offset == 0.0f) return;
  for (std::int64_t i = 0; i < count * length; ++i) out[i] -= tensor.offset;
}

}  // namespace augur
