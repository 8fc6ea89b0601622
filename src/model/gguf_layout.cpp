#include "model/gguf_layout.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "base/error.h"
#include "files/gguf/model.h"
#include "files/gguf/split.h"
#include "model/families.h"
#include "model/gguf_metadata.h"
#include "model/recurrent_layout.h"

namespace augur {

namespace {

bool fits(DType type, std::int64_t row) {
  return row % block_shape(type).elements == 0;
}

double bits_of(DType type) {
  const BlockShape shape = block_shape(type);
  return 8.0 * static_cast<double>(shape.bytes) / static_cast<double>(shape.elements);
}

/// Too few for an embedding and a head: 4 or less, and what belongs to them.
bool has_few_bits(DType type) {
  return block_shape(type).elements > 1 && bits_of(type) <= 5;
}

/// A router chooses experts by small differences; it is small itself.
bool is_router(std::string_view gguf_name) {
  return gguf_name.find(".ffn_gate_inp") != std::string_view::npos;
}

/// What decides how much of a state is kept and written is small, too, and read as floats.
bool are_gates(std::string_view gguf_name) {
  return gguf_name.ends_with(".ssm_beta.weight") || gguf_name.ends_with(".ssm_alpha.weight") ||
         gguf_name.ends_with(".ssm_ba.weight") || is_vector_of_mamba(gguf_name);
}

bool is_vocabulary(std::string_view gguf_name) {
  return gguf_name == "token_embd.weight" || gguf_name == "output.weight";
}

/// Of a tensor, or of one of several, under the name that it gets.
DType written_type(const StoredTensor& tensor, DType type, std::string_view name) {
  if (tensor.dtype == DType::Bool || tensor.dtype == DType::U8) return DType::I8;  // GGUF has neither
  if (is_integer(tensor.dtype)) return tensor.dtype;
  if (tensor.shape.size() != 2 || is_router(name) || are_gguf_taps(name) || are_gates(name))
    return DType::F32;
  const std::int64_t row = tensor.shape.back();
  if (is_vocabulary(name) && has_few_bits(type)) type = fits(DType::Q6_K, row) ? DType::Q6_K : DType::Q8_0;
  if (fits(type, row)) return type;
  const DType smaller = type == DType::Q4_K ? DType::Q4_1 : DType::IQ4_NL;
  return block_shape(type).elements == 256 && fits(smaller, row) ? smaller : DType::BF16;
}

void lay_out_file(const GgufFile& file, DType type, GgufLayout& layout) {
  for (const auto& [key, value] : file.metadata()) {
    if (!is_split_key(key)) layout.metadata.copy(key, value);  // that is how the file is stored
  }
  layout.raw.reserve(file.tensor_infos().size());
  for (const GgufTensorInfo& info : file.tensor_infos()) {
    StoredTensor& tensor = layout.raw.emplace_back(file.tensor(info));
    const Shape shape = tensor.shape;
    if (shape.size() == 3) tensor.shape = {shape[0] * shape[1], shape[2]};
    layout.items.push_back({.name = info.name,
                            .type = written_type(tensor, type, info.name),
                            .shape = shape,
                            .tensors = {&tensor}});
  }
}

/// llama.cpp's order of the rows of queries and keys: the two halves of a head alternate.
std::vector<std::int64_t> alternating_rows(std::int64_t heads, std::int64_t head_dim) {
  std::vector<std::int64_t> order;
  order.reserve(static_cast<std::size_t>(heads * head_dim));
  for (std::int64_t row = 0; row < heads * head_dim; ++row) {
    const std::int64_t within = row % head_dim;
    order.push_back(row - within + within % 2 * (head_dim / 2) + within / 2);
  }
  return order;
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

/// The place of a layer's experts, of which one is `like`: a matrix or a bias.
GgufItem stack_of(const ModelConfig& config, const std::string& name, const StoredTensor& like, DType type) {
  const int count = config.experts().count;
  if (name.empty() || like.shape.empty() || like.shape.size() > 2) {
    throw Error("{}: tensor {}: no matrix or bias of an expert that GGUF has a name for", like.file,
                like.name);
  }
  Shape shape = like.shape;
  shape.insert(shape.begin(), count);
  // Experts that come in four bits get no better in more, as llama.cpp's converter has it (gpt-oss).
  type = written_type(like, type, name);
  const bool keep = like.dtype == DType::MXFP4 && bits_of(type) > bits_of(DType::MXFP4);
  return {.name = name,
          .type = keep ? DType::MXFP4 : type,
          .shape = std::move(shape),
          .tensors = std::vector<const StoredTensor*>(static_cast<std::size_t>(count))};
}

void place_expert(GgufItem& stack, const StoredTensor& tensor, std::int64_t expert) {
  if (expert >= std::ssize(stack.tensors)) {
    throw Error("{}: tensor {}: the model has {} experts", tensor.file, tensor.name, stack.tensors.size());
  }
  if (const Shape others(stack.shape.begin() + 1, stack.shape.end()); tensor.shape != others) {
    throw Error("{}: tensor {}: its shape is not that of other experts: expected {}", tensor.file,
                tensor.name, to_string(others));
  }
  stack.tensors[static_cast<std::size_t>(expert)] = &tensor;
}

void lay_out_folder(const Checkpoint& checkpoint, DType type, GgufLayout& layout) {
  const ModelConfig config = ModelConfig::from_json(checkpoint.config(), checkpoint.path().string());
  layout.metadata = gguf_metadata(checkpoint, config);
  const GgufArchitecture& architecture = gguf_architecture_of(config);
  const bool interleaves = architecture.interleaved;
  for (auto& [name, values] : gguf_rope_factors(config)) {
    const Shape shape = {std::ssize(values)};
    layout.items.push_back({.name = name, .shape = shape, .values = std::move(values)});
  }
  std::map<std::string, std::size_t> stacked;  // items of experts, by name
  const auto gguf_name = [&](std::string_view name) {
    return gguf_tensor_name(architecture, name, config.layers);
  };
  const Family& family = *find_family(config.family);
  for (const auto& entry : checkpoint.weights().tensors()) {
    if (family.single_blocks && entry.first.starts_with(family.names.drafting))
      continue;  // nobody reads these
    const auto [of_all, expert] = without_expert(entry.first);
    if (expert) {
      const std::string name = gguf_name(of_all);
      const auto [at, is_new] = stacked.try_emplace(name, layout.items.size());
      if (is_new) layout.items.push_back(stack_of(config, name, entry.second, type));
      place_expert(layout.items[at->second], entry.second, *expert);
      continue;
    }
    const StoredTensor* whole = checkpoint.weights().whole(entry.second.slice_of);
    const bool as_whole = whole != nullptr && !gguf_name(whole->name).empty();
    if (as_whole && entry.second.bytes.data() != whole->bytes.data())
      continue;  // the first part stands for it
    const StoredTensor& tensor = as_whole ? *whole : entry.second;
    const std::string& name = tensor.name;
    if (name.ends_with("rotary_emb.inv_freq") || name.ends_with("attn.masked_bias") ||
        (config.tied_embeddings && name == "lm_head.weight")) {
      continue;  // tables that old exporters stored, and the copy of a tied embedding
    }
    if (std::vector<GgufItem> made;
        lay_out_recurrent(config, architecture, checkpoint.weights(), tensor, made)) {
      for (GgufItem& item : made) {
        if (!item.tensors.empty()) item.type = written_type(tensor, type, item.name);
        layout.items.push_back(std::move(item));
      }
      continue;
    }
    const std::string gguf = gguf_name(name);
    if (gguf.empty()) {
      throw Error(ErrorKind::Unsupported, "{}: tensor {} has no name in GGUF: {}", tensor.file, name,
                  "not a model of a known family");
    }
    GgufItem item{
        .name = gguf, .type = written_type(tensor, type, gguf), .shape = tensor.shape, .tensors = {&tensor}};
    item.offset = gguf_offset(architecture, gguf);
    if (are_gguf_taps(gguf) && item.shape.size() == 3) item.shape.erase(item.shape.begin() + 1);
    const std::int64_t rows = tensor.shape.empty() ? 0 : tensor.shape[0];
    std::int64_t heads = 0;
    if (interleaves && name.find(".self_attn.q_proj.") != std::string::npos) heads = config.heads;
    if (interleaves && name.find(".self_attn.k_proj.") != std::string::npos) heads = config.kv_heads;
    if (heads > 0 && rows != heads * config.head_dim) {
      throw Error("{}: tensor {}: {} rows for {} heads of {}", tensor.file, name, rows, heads,
                  config.head_dim);
    }
    if (heads > 0) item.order = alternating_rows(heads, config.head_dim);
    layout.items.push_back(std::move(item));
  }
  for (const auto& [name, index] : stacked) {
    const std::vector<const StoredTensor*>& experts = layout.items[index].tensors;
    const auto missing = std::find(experts.begin(), experts.end(), nullptr);
    if (missing == experts.end()) continue;
    throw Error("{}: {}: expert {} of {} is missing", checkpoint.path().string(), name,
                missing - experts.begin(), experts.size());
  }
}

/// Draft heads: their own names, and their configuration as it is.
void lay_out_head(const Checkpoint& checkpoint, DType type, GgufLayout& layout) {
  layout.metadata.set("general.architecture", kHeadArchitecture);
  layout.metadata.set(kHeadConfigKey, checkpoint.config().dump());
  for (const auto& [name, tensor] : checkpoint.weights().tensors()) {
    layout.items.push_back(
        {.name = name, .type = written_type(tensor, type, {}), .shape = tensor.shape, .tensors = {&tensor}});
  }
}

}  // namespace

GgufLayout lay_out_gguf(const Checkpoint& checkpoint, DType type) {
  GgufLayout layout;
  if (checkpoint.is_gguf()) {
    lay_out_file(*checkpoint.gguf(), type, layout);
  } else if (checkpoint.weights().find("model.embed_tokens.weight") != nullptr) {
    lay_out_folder(checkpoint, type, layout);
  } else {
    lay_out_head(checkpoint, type, layout);
  }
  return layout;
}

namespace {

/// Appends what a matrix's columns weigh; equal weights and false where the text never used the matrix.
bool add_weights(std::span<const float> columns, std::vector<float>& weights) {
  double sum = 0;
  for (const float column : columns) sum += static_cast<double>(column);
  if (!(sum > 0)) {
    weights.insert(weights.end(), columns.size(), 1.0f);
    return false;
  }
  // Columns that the text never used are not worth nothing.
  constexpr double kLeast = 1e-3;
  const auto least = static_cast<float>(kLeast * sum / static_cast<double>(columns.size()));
  for (const float column : columns) weights.push_back(column + least);
  return true;
}

}  // namespace

void weigh(const ImportanceMatrix& importance, std::vector<GgufItem>& items) {
  std::size_t known = 0;
  for (GgufItem& item : items) {
    const std::span<const float> columns = importance.of(item.name);
    if (columns.empty() || item.tensors.empty() || item.shape.size() < 2) continue;
    const std::int64_t length = item.row_length();
    const bool of_each = item.shape.size() == 3 && std::ssize(columns) == item.shape[0] * length;
    if (std::ssize(columns) != length && !of_each) {
      throw Error("{}: {}: {} columns, the matrix has {}: expected the importance matrix of this model",
                  importance.source(), item.name, columns.size(), length);
    }
    ++known;
    std::vector<float> weights;
    bool any = false;
    for (std::int64_t first = 0; first < std::ssize(columns); first += length)
      any |= add_weights(columns.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(length)),
                         weights);
    if (any) item.importance = std::move(weights);
  }
  if (known == 0) {
    throw Error("{}: has none of this model's matrices: expected names like blk.0.attn_q.weight",
                importance.source());
  }
}

}  // namespace augur
