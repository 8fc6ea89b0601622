#include "model/quantize_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <mutex>

#include "base/error.h"
#include "files/gguf/split_writer.h"
#include "kernels/quantize.h"
#include "model/gguf_layout.h"

namespace augur {

namespace {

std::int64_t rows_of(const StoredTensor& tensor) {
  return tensor.shape.size() < 2 ? 1 : tensor.shape[0];
}
std::int64_t row_length(const StoredTensor& tensor) {
  std::int64_t length = 1;
  for (std::size_t i = tensor.shape.size() < 2 ? 0 : 1; i < tensor.shape.size(); ++i)
    length *= tensor.shape[i];
  return length;
}
/// Rows that the item takes of one of its tensors.
std::int64_t rows_of(const GgufItem& item, const StoredTensor& tensor) {
  return item.order.empty() || tensor.shape.size() < 2 ? rows_of(tensor) : std::ssize(item.order);
}

void encode(DType type, const float* values, std::int64_t count, const float* importance, std::byte* out) {
  switch (type) {
    case DType::F32:
      std::memcpy(out, values, static_cast<std::size_t>(count) * sizeof(float));
      return;
    case DType::BF16:
      for (std::int64_t i = 0; i < count; ++i) {
        const BF16 v = to_bf16(values[i]);
        std::memcpy(out + 2 * i, &v, sizeof v);
      }
      return;
    case DType::F16:
      for (std::int64_t i = 0; i < count; ++i) {
        const std::uint16_t v = float_to_half(values[i]);
        if (!std::isfinite(half_to_float(v))) throw Error("{} is outside the range of F16", values[i]);
        std::memcpy(out + 2 * i, &v, sizeof v);
      }
      return;
    default:
      quantize_blocks(type, values, count, out, importance);
  }
}

/// Row `row` of one of its tensors, in the file's order, as float32.
void read_row(const GgufItem& item, const StoredTensor& tensor, std::int64_t row, float* out) {
  const bool is_vector = tensor.shape.size() < 2;
  const std::int64_t length = row_length(tensor);
  const bool moved = !is_vector && !item.order.empty();
  read_rows(tensor, moved ? item.order[static_cast<std::size_t>(row)] : row, 1, out);
  if (const auto& order = is_vector ? item.order : item.columns; !order.empty()) {
    const std::vector<float> plain(out, out + length);
    for (std::size_t i = 0; i < plain.size(); ++i) out[i] = plain[static_cast<std::size_t>(order[i])];
  }
  for (std::int64_t i = 0; item.offset != 0.0f && i < length; ++i) out[i] += item.offset;
}

/// `before`: rows of the item's tensors before this one.
void write_tensor(ThreadPool& pool, const GgufItem& item, const StoredTensor& tensor, std::int64_t before,
                  SplitGgufWriter& writer, const std::function<void(std::int64_t)>& done) {
  const std::int64_t rows = rows_of(item, tensor);
  const std::int64_t length = row_length(tensor);
  const bool as_stored = item.type == tensor.dtype && item.order.empty() && item.columns.empty() &&
                         item.offset == 0.0f && tensor.as_is();
  if (as_stored || is_integer(item.type)) {
    writer.write(tensor.bytes);
    return done(rows * length);
  }
  if (rows * length == 0) return;
  constexpr std::int64_t kElementsAtOnce = std::int64_t{1} << 24;
  const std::int64_t step = std::clamp<std::int64_t>(kElementsAtOnce / length, 1, rows);
  const BlockShape block = block_shape(item.type);
  const std::int64_t row_bytes = length / block.elements * block.bytes;
  std::vector<std::byte> bytes(static_cast<std::size_t>(step * row_bytes));
  for (std::int64_t first = 0; first < rows; first += step) {
    const std::int64_t count = std::min(step, rows - first);
    std::mutex mutex;
    std::exception_ptr failure;
    pool.run([&](Team& team) {
      const Range mine = team.split(count);
      try {
        std::vector<float> values(static_cast<std::size_t>(length));
        for (std::int64_t r = mine.begin; r < mine.end; ++r) {
          read_row(item, tensor, first + r, values.data());
          encode(item.type, values.data(), length, item.importance_of(before + first + r),
                 bytes.data() + r * row_bytes);
        }
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    });
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const Error& error) {
      throw Error(error.cause(), "{}: tensor {}: {}", tensor.file, tensor.name, error.what());
    }
    writer.write(std::span(bytes).first(static_cast<std::size_t>(count * row_bytes)));
    done(count * length);
  }
}

void write_item(ThreadPool& pool, const GgufItem& item, SplitGgufWriter& writer,
                const std::function<void(std::int64_t)>& done) {
  if (item.tensors.empty()) return writer.write(std::as_bytes(std::span(item.values)));
  std::int64_t before = 0;
  for (const StoredTensor* tensor : item.tensors) {
    write_tensor(pool, item, *tensor, before, writer, done);
    before += rows_of(item, *tensor);
  }
}

void set_file_type(DType type, GgufMetadata& metadata) {
  // llama.cpp's numbers for whole files.
  const std::uint32_t number = type == DType::F32      ? 0
                               : type == DType::F16    ? 1
                               : type == DType::Q4_0   ? 2
                               : type == DType::Q4_1   ? 3
                               : type == DType::Q8_0   ? 7
                               : type == DType::Q2_K   ? 10
                               : type == DType::Q3_K   ? 12
                               : type == DType::Q4_K   ? 14
                               : type == DType::IQ4_NL ? 25
                               : type == DType::IQ4_XS ? 30
                               : type == DType::MXFP4  ? 38
                                                       : 32;
  metadata.set_u32("general.file_type", number);
  metadata.set_u32("general.quantization_version", 2);
}

}  // namespace

const std::vector<DType>& quantize_types() {
  static const std::vector<DType> types = {DType::F32,  DType::F16,    DType::BF16,   DType::Q8_0,
                                           DType::Q4_0, DType::Q4_1,   DType::Q4_K,   DType::Q3_K,
                                           DType::Q2_K, DType::IQ4_NL, DType::IQ4_XS, DType::MXFP4};
  return types;
}

std::vector<std::filesystem::path> quantize_model(ThreadPool& pool, const Checkpoint& checkpoint,
                                                  const std::filesystem::path& out,
                                                  const QuantizeModelOptions& options) {
  const std::vector<DType>& types = quantize_types();
  if (std::find(types.begin(), types.end(), options.type) == types.end()) {
    throw Error(ErrorKind::Unsupported, "a model cannot be written as {}", name(options.type));
  }
  GgufLayout layout = lay_out_gguf(checkpoint, options.type);
  if (options.importance != nullptr) weigh(*options.importance, layout.items);
  set_file_type(options.type, layout.metadata);

  std::vector<GgufWriter::Entry> entries;
  std::int64_t total = 1;
  for (const GgufItem& item : layout.items) {
    entries.push_back({item.name, item.type, item.shape});
    for (const StoredTensor* tensor : item.tensors) total += rows_of(item, *tensor) * row_length(*tensor);
  }
  SplitGgufWriter writer(out, layout.metadata, entries, options.split);
  std::int64_t done = 0;
  for (const GgufItem& item : layout.items) {
    write_item(pool, item, writer, [&](std::int64_t elements) {
      done += elements;
      if (options.progress) options.progress(static_cast<double>(done) / static_cast<double>(total));
    });
  }
  writer.finish();
  return writer.paths();
}

}  // namespace augur
