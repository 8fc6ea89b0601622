#include "model/quantize_model.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "io/gguf/model.h"
#include "io/gguf/writer.h"
#include "kernels/quantize.h"
#include "model/families.h"
#include "model/gguf_metadata.h"

namespace augur {

namespace {

/// A tensor to write.
struct Item {
  std::string name;  ///< in the file
  DType type = DType::F32;
  Shape shape;                               ///< in the file, slowest dimension first
  std::vector<const StoredTensor*> tensors;  ///< one after another: experts have one each; empty: `values`
  int interleave = 0;                        ///< > 0: heads over which GGUF interleaves the rows
  float offset = 0.0f;                       ///< added to all values
  std::vector<float> values = {};
  /// [row length], or [matrices, row length] for experts side by side; empty: all columns are worth the same.
  std::vector<float> importance = {};

  std::int64_t row_length() const { return shape.empty() ? 1 : shape.back(); }
  std::int64_t matrix_rows() const { return shape.size() < 2 ? 1 : shape[shape.size() - 2]; }
  /// Of row `row` of all; null: equal.
  const float* importance_of(std::int64_t row) const {
    if (importance.empty()) return nullptr;
    const bool of_all = std::ssize(importance) == row_length();
    return importance.data() + (of_all ? 0 : row / matrix_rows() * row_length());
  }
};

/// Which row of a Hugging Face matrix is row `row` in GGUF's order, heads having `size` rows.
std::int64_t plain_row(std::int64_t row, std::int64_t size) {
  const std::int64_t within = row % size;
  return row - within + within % 2 * (size / 2) + within / 2;
}

bool is_integer(DType type) {
  return type == DType::I64 || type == DType::I32 || type == DType::I16 || type == DType::I8 ||
         type == DType::U8 || type == DType::Bool;
}

bool fits(DType type, std::int64_t row) {
  return row % block_shape(type).elements == 0;
}

/// Too few for an embedding and a head: 4 or less, and what belongs to them.
bool has_few_bits(DType type) {
  const BlockShape shape = block_shape(type);
  return shape.elements > 1 && 8 * shape.bytes <= 5 * shape.elements;
}

/// A router chooses experts by small differences; it is small itself.
bool is_router(std::string_view gguf_name) {
  return gguf_name.find(".ffn_gate_inp") != std::string_view::npos;
}

bool is_vocabulary(std::string_view gguf_name) {
  return gguf_name == "token_embd.weight" || gguf_name == "output.weight";
}

/// Of a tensor, or of one of several, under the name that it gets.
DType written_type(const StoredTensor& tensor, DType type, std::string_view name) {
  if (tensor.dtype == DType::Bool || tensor.dtype == DType::U8) return DType::I8;  // GGUF has neither
  if (is_integer(tensor.dtype)) return tensor.dtype;
  if (tensor.shape.size() != 2 || is_router(name)) return DType::F32;
  const std::int64_t row = tensor.shape.back();
  if (is_vocabulary(name) && has_few_bits(type)) type = fits(DType::Q6_K, row) ? DType::Q6_K : DType::Q8_0;
  if (fits(type, row)) return type;
  const DType smaller = type == DType::Q4_K ? DType::Q4_1 : DType::IQ4_NL;
  return block_shape(type).elements == 256 && fits(smaller, row) ? smaller : DType::BF16;
}

std::int64_t rows_of(const StoredTensor& tensor) {
  return tensor.shape.size() < 2 ? 1 : tensor.shape[0];
}
std::int64_t row_length(const StoredTensor& tensor) {
  std::int64_t length = 1;
  for (std::size_t i = tensor.shape.size() < 2 ? 0 : 1; i < tensor.shape.size(); ++i)
    length *= tensor.shape[i];
  return length;
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
void read_row(const Item& item, const StoredTensor& tensor, std::int64_t row, float* out) {
  if (item.interleave == 0) {
    read_rows(tensor, row, 1, out);
    const std::int64_t length = row_length(tensor);
    for (std::int64_t i = 0; item.offset != 0.0f && i < length; ++i) out[i] += item.offset;
    return;
  }
  if (tensor.shape.size() == 2) {
    return read_rows(tensor, plain_row(row, rows_of(tensor) / item.interleave), 1, out);
  }
  const std::int64_t length = row_length(tensor);  // a bias, whose elements follow the rows of its matrix
  std::vector<float> plain(static_cast<std::size_t>(length));
  read_rows(tensor, 0, 1, plain.data());
  for (std::int64_t i = 0; i < length; ++i) {
    out[i] = plain[static_cast<std::size_t>(plain_row(i, length / item.interleave))];
  }
}

/// `before`: rows of the item's tensors before this one.
void write_tensor(ThreadPool& pool, const Item& item, const StoredTensor& tensor, std::int64_t before,
                  GgufWriter& writer, const std::function<void(std::int64_t)>& done) {
  const std::int64_t rows = rows_of(tensor);
  const std::int64_t length = row_length(tensor);
  const bool as_stored =
      item.type == tensor.dtype && item.interleave == 0 && item.offset == 0.0f && tensor.as_is();
  if (as_stored || is_integer(tensor.dtype)) {
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
      throw Error("{}: tensor {}: {}", tensor.file, tensor.name, error.what());
    }
    writer.write(std::span(bytes).first(static_cast<std::size_t>(count * row_bytes)));
    done(count * length);
  }
}

void write_item(ThreadPool& pool, const Item& item, GgufWriter& writer,
                const std::function<void(std::int64_t)>& done) {
  if (item.tensors.empty()) return writer.write(std::as_bytes(std::span(item.values)));
  std::int64_t before = 0;
  for (const StoredTensor* tensor : item.tensors) {
    write_tensor(pool, item, *tensor, before, writer, done);
    before += rows_of(*tensor);
  }
}

/// Where the parts of the file come from.
struct Plan {
  GgufMetadata metadata;
  /// Of a GGUF file, in its own order of rows; experts, which it has side by side, as one matrix.
  std::vector<StoredTensor> raw;
  std::vector<Item> items;
};

void plan_gguf(const GgufFile& file, DType type, Plan& plan) {
  for (const auto& [key, value] : file.metadata()) plan.metadata.copy(key, value);
  plan.raw.reserve(file.tensor_infos().size());
  for (const GgufTensorInfo& info : file.tensor_infos()) {
    StoredTensor& tensor = plan.raw.emplace_back(file.tensor(info));
    const Shape shape = tensor.shape;
    if (shape.size() == 3) tensor.shape = {shape[0] * shape[1], shape[2]};
    plan.items.push_back({.name = info.name,
                          .type = written_type(tensor, type, info.name),
                          .shape = shape,
                          .tensors = {&tensor}});
  }
}

/// A name of an expert's tensor without its number (mlp.experts.3.up_proj becomes mlp.experts.up_proj), and
/// the number.
std::pair<std::string, std::optional<std::int64_t>> without_expert(const std::string& name) {
  constexpr std::string_view kExperts = ".experts.";
  const auto found = name.find(kExperts);
  if (found == std::string::npos) return {name, std::nullopt};
  const std::size_t begin = found + kExperts.size();
  const std::size_t end = name.find('.', begin);
  std::int64_t number = 0;
  const auto [rest, error] =
      std::from_chars(name.data() + begin, name.data() + std::min(end, name.size()), number);
  if (error != std::errc() || end == std::string::npos || rest != name.data() + end || number < 0)
    return {name, std::nullopt};
  return {name.substr(0, begin) + name.substr(end + 1), number};
}

/// The place of a layer's experts, of which one is `like`.
Item stack_of(const ModelConfig& config, const std::string& name, const StoredTensor& like, DType type) {
  const auto count =
      std::max_element(config.kinds.begin(), config.kinds.end(), [](const auto& a, const auto& b) {
        return a.experts.count < b.experts.count;
      })->experts.count;
  if (name.empty() || like.shape.size() != 2) {
    throw Error("{}: tensor {}: no matrix of an expert that GGUF has a name for", like.file, like.name);
  }
  return {.name = name,
          .type = written_type(like, type, name),
          .shape = {count, like.shape[0], like.shape[1]},
          .tensors = std::vector<const StoredTensor*>(static_cast<std::size_t>(count))};
}

void place_expert(Item& stack, const StoredTensor& tensor, std::int64_t expert) {
  if (expert >= std::ssize(stack.tensors)) {
    throw Error("{}: tensor {}: the model has {} experts", tensor.file, tensor.name, stack.tensors.size());
  }
  if (tensor.shape != Shape(stack.shape.begin() + 1, stack.shape.end())) {
    throw Error("{}: tensor {}: its shape is not that of other experts: expected [{}, {}]", tensor.file,
                tensor.name, stack.shape[1], stack.shape[2]);
  }
  stack.tensors[static_cast<std::size_t>(expert)] = &tensor;
}

void plan_folder(const Checkpoint& checkpoint, DType type, Plan& plan) {
  const ModelConfig config = ModelConfig::from_json(checkpoint.config(), checkpoint.path().string());
  plan.metadata = gguf_metadata(checkpoint, config);
  const GgufArchitecture& architecture = gguf_architecture_of(config);
  const bool interleaves = architecture.interleaved;
  for (auto& [name, values] : gguf_rope_factors(config)) {
    const Shape shape = {std::ssize(values)};
    plan.items.push_back({.name = name, .shape = shape, .values = std::move(values)});
  }
  std::map<std::string, std::size_t> stacked;  // items of experts, by name
  for (const auto& entry : checkpoint.weights().tensors()) {
    const auto [of_all, expert] = without_expert(entry.first);
    if (expert) {
      const std::string name = gguf_tensor_name(architecture, of_all);
      const auto [at, is_new] = stacked.try_emplace(name, plan.items.size());
      if (is_new) plan.items.push_back(stack_of(config, name, entry.second, type));
      place_expert(plan.items[at->second], entry.second, *expert);
      continue;
    }
    const StoredTensor* whole = checkpoint.weights().whole(entry.second.part_of);
    const bool as_whole = whole != nullptr && !gguf_tensor_name(architecture, whole->name).empty();
    if (as_whole && entry.second.bytes.data() != whole->bytes.data())
      continue;  // the first part stands for it
    const StoredTensor& tensor = as_whole ? *whole : entry.second;
    const std::string& name = tensor.name;
    if (name.ends_with("rotary_emb.inv_freq") || name.ends_with("attn.masked_bias") ||
        (config.tied_embeddings && name == "lm_head.weight")) {
      continue;  // tables that old exporters stored, and the copy of a tied embedding
    }
    const std::string gguf = gguf_tensor_name(architecture, name);
    if (gguf.empty()) {
      throw Error("{}: tensor {} has no name in GGUF: {}", tensor.file, name,
                  "not a model of a known family");
    }
    Item item{
        .name = gguf, .type = written_type(tensor, type, gguf), .shape = tensor.shape, .tensors = {&tensor}};
    if (name.ends_with("norm.weight")) item.offset = architecture.norm_offset;
    const std::int64_t rows = tensor.shape.empty() ? 0 : tensor.shape[0];
    if (interleaves && name.find(".self_attn.q_proj.") != std::string::npos) item.interleave = config.heads;
    if (interleaves && name.find(".self_attn.k_proj.") != std::string::npos)
      item.interleave = config.kv_heads;
    if (item.interleave > 0 && rows != std::int64_t{item.interleave} * config.head_dim) {
      throw Error("{}: tensor {}: {} rows for {} heads of {}", tensor.file, name, rows, item.interleave,
                  config.head_dim);
    }
    plan.items.push_back(std::move(item));
  }
  for (const auto& [name, index] : stacked) {
    const std::vector<const StoredTensor*>& experts = plan.items[index].tensors;
    const auto missing = std::find(experts.begin(), experts.end(), nullptr);
    if (missing == experts.end()) continue;
    throw Error("{}: {}: expert {} of {} is missing", checkpoint.path().string(), name,
                missing - experts.begin(), experts.size());
  }
}

/// Draft heads: their own names, and their configuration as it is.
void plan_head(const Checkpoint& checkpoint, DType type, Plan& plan) {
  plan.metadata.set("general.architecture", kHeadArchitecture);
  plan.metadata.set(kHeadConfigKey, checkpoint.config().dump());
  for (const auto& [name, tensor] : checkpoint.weights().tensors()) {
    plan.items.push_back(
        {.name = name, .type = written_type(tensor, type, {}), .shape = tensor.shape, .tensors = {&tensor}});
  }
}

/// Gives the matrices what `importance` says of them.
void weigh(const ImportanceMatrix& importance, std::vector<Item>& items) {
  std::size_t known = 0;
  for (Item& item : items) {
    const std::span<const float> columns = importance.of(item.name);
    if (columns.empty() || item.tensors.empty() || item.shape.size() < 2) continue;
    const std::int64_t length = item.row_length();
    const bool of_each = item.shape.size() == 3 && std::ssize(columns) == item.shape[0] * length;
    if (std::ssize(columns) != length && !of_each) {
      throw Error("{}: {}: {} columns, the matrix has {}: expected the importance matrix of this model",
                  importance.source(), item.name, columns.size(), length);
    }
    double sum = 0;
    for (const float column : columns) sum += static_cast<double>(column);
    ++known;
    if (!(sum > 0)) continue;
    // Columns that the text never used, and experts that it never woke, are not worth nothing.
    constexpr double kLeast = 1e-3;
    const auto least = static_cast<float>(kLeast * sum / static_cast<double>(columns.size()));
    item.importance.assign(columns.begin(), columns.end());
    for (float& column : item.importance) column += least;
  }
  if (known == 0) {
    throw Error("{}: has none of this model's matrices: expected names like blk.0.attn_q.weight",
                importance.source());
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

void quantize_model(ThreadPool& pool, const Checkpoint& checkpoint, const std::filesystem::path& out,
                    const QuantizeModelOptions& options) {
  const std::vector<DType>& types = quantize_types();
  if (std::find(types.begin(), types.end(), options.type) == types.end()) {
    throw Error("a model cannot be written as {}", name(options.type));
  }
  const WeightStore& weights = checkpoint.weights();
  Plan plan;
  if (checkpoint.is_gguf()) {
    plan_gguf(*checkpoint.gguf(), options.type, plan);
  } else if (weights.find("model.embed_tokens.weight") != nullptr) {
    plan_folder(checkpoint, options.type, plan);
  } else {
    plan_head(checkpoint, options.type, plan);
  }
  if (options.importance != nullptr) weigh(*options.importance, plan.items);
  set_file_type(options.type, plan.metadata);

  std::vector<GgufWriter::Entry> entries;
  std::int64_t total = 1;
  for (const Item& item : plan.items) {
    entries.push_back({item.name, item.type, item.shape});
    for (const StoredTensor* tensor : item.tensors) total += rows_of(*tensor) * row_length(*tensor);
  }
  GgufWriter writer(out, plan.metadata, entries);
  std::int64_t done = 0;
  for (const Item& item : plan.items) {
    write_item(pool, item, writer, [&](std::int64_t elements) {
      done += elements;
      if (options.progress) options.progress(static_cast<double>(done) / static_cast<double>(total));
    });
  }
  writer.finish();
}

}  // namespace augur
