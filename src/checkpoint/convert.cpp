#include "checkpoint/convert.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "checkpoint/delta_folder.h"
#include "checkpoint/folder_tensor.h"
#include "files/gguf/model.h"
#include "files/mapped_file.h"
#include "files/safetensors_writer.h"
#include "text/tokenizer/export.h"

namespace augur {

namespace fs = std::filesystem;

namespace {

template <class Json>
void write_json(const fs::path& path, const Json& document) {
  AtomicFile file(path);
  file.write(document.dump(2));
  file.write("\n");
  file.commit();
}

void write_tensor(SafetensorsWriter& writer, const StoredTensor& tensor) {
  const DType type = folder_type(tensor.dtype, tensor.shape);
  if (type == tensor.dtype && tensor.as_is()) return writer.write(tensor.bytes);
  const std::int64_t rows = tensor.shape.size() < 2 ? 1 : tensor.shape[0];
  std::int64_t length = 1;
  for (const std::int64_t size : tensor.shape) length *= size;
  if (length == 0) return;
  length /= rows;
  constexpr std::int64_t kElementsAtOnce = 1 << 20;
  const std::int64_t step = std::clamp<std::int64_t>(kElementsAtOnce / length, 1, rows);
  std::vector<float> values(static_cast<std::size_t>(step * length));
  for (std::int64_t row = 0; row < rows; row += step) {
    const std::int64_t count = std::min(step, rows - row);
    const auto elements = static_cast<std::size_t>(count * length);
    read_rows(tensor, row, count, values.data());
    write_values(writer, type, std::span(values).first(elements));
  }
}

struct Shard {
  std::vector<const FolderTensor*> tensors;
  std::int64_t bytes = 0;
};

/// What Hugging Face has in place of a tensor and others (Phi-3's qkv_proj); null: the tensor itself.
/// Experts are published one by one.
const StoredTensor* published_whole(const WeightStore& weights, const StoredTensor& tensor) {
  const StoredTensor* whole = weights.whole(tensor.slice_of);
  const bool experts = tensor.name.find(".experts.") != std::string::npos;
  return whole == nullptr || whole->shape.size() != 2 || experts ? nullptr : whole;
}

std::vector<FolderTensor> folder_tensors(const Checkpoint& checkpoint) {
  const WeightStore& weights = checkpoint.weights();
  const std::optional<DeltaFolder> delta = DeltaFolder::of(checkpoint);
  std::vector<FolderTensor> result;
  const auto add = [&](const StoredTensor& tensor) {
    result.push_back({.name = tensor.name,
                      .type = folder_type(tensor.dtype, tensor.shape),
                      .shape = tensor.shape,
                      .write = [&tensor](SafetensorsWriter& writer) { write_tensor(writer, tensor); }});
  };
  for (const auto& [key, tensor] : weights.tensors()) {
    if (delta && delta->lay_out(tensor, result)) continue;
    const StoredTensor* whole = published_whole(weights, tensor);
    if (whole == nullptr) {
      add(tensor);
    } else if (whole->bytes.data() == tensor.bytes.data()) {  // the first part stands for it
      add(*whole);
    }
  }
  // Wider elements first, so that every tensor is aligned.
  std::stable_sort(result.begin(), result.end(), [](const FolderTensor& a, const FolderTensor& b) {
    return block_shape(a.type).bytes > block_shape(b.type).bytes;
  });
  return result;
}

std::vector<Shard> plan_shards(const std::vector<FolderTensor>& tensors, std::int64_t max_bytes) {
  std::vector<Shard> shards;
  for (const FolderTensor& tensor : tensors) {
    const std::int64_t bytes = storage_bytes(tensor.type, tensor.shape).value_or(0);
    if (shards.empty() || (shards.back().bytes > 0 && shards.back().bytes + bytes > max_bytes))
      shards.emplace_back();
    shards.back().tensors.push_back(&tensor);
    shards.back().bytes += bytes;
  }
  return shards;
}

void write_weights(const std::vector<FolderTensor>& tensors, const fs::path& out,
                   const ConvertOptions& options) {
  const auto shards = plan_shards(tensors, options.max_shard_bytes);
  const int total = static_cast<int>(tensors.size());
  int done = 0;
  std::int64_t total_bytes = 0;
  nlohmann::json weight_map = nlohmann::json::object();
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string file = shards.size() == 1
                                 ? "model.safetensors"
                                 : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    std::vector<SafetensorsWriter::Entry> entries;
    for (const FolderTensor* tensor : shards[i].tensors) {
      entries.push_back({tensor->name, tensor->type, tensor->shape});
      weight_map[tensor->name] = file;
    }
    SafetensorsWriter writer(out / file, entries);
    for (const FolderTensor* tensor : shards[i].tensors) {
      tensor->write(writer);
      if (options.progress) options.progress(++done, total);
    }
    writer.finish();
    total_bytes += shards[i].bytes;
  }
  if (shards.size() > 1) {
    write_json(out / "model.safetensors.index.json",
               nlohmann::json{{"metadata", {{"total_size", total_bytes}}}, {"weight_map", weight_map}});
  }
}

void write_gguf_tokenizer(const Checkpoint& checkpoint, const fs::path& out) {
  const auto vocabulary = gguf_vocabulary(*checkpoint.gguf());
  if (!vocabulary) return;
  const bool add_bos = checkpoint.load_tokenizer()->add_bos;
  write_json(out / "tokenizer.json", export_tokenizer_json(*vocabulary, add_bos));
  auto config = export_tokenizer_config(*vocabulary, add_bos);
  if (const auto& model = checkpoint.config(); model.contains("max_position_embeddings")) {
    config["model_max_length"] = model["max_position_embeddings"].get<std::int64_t>();
  }
  if (const auto source = checkpoint.chat_template()) config["chat_template"] = *source;
  write_json(out / "tokenizer_config.json", config);
}

/// The end tokens that are known by their text, too: a folder's reader has only the list.
nlohmann::json generation_config(const Checkpoint& checkpoint) {
  nlohmann::json config = checkpoint.generation_config();
  if (!checkpoint.is_gguf() || !gguf_vocabulary(*checkpoint.gguf())) return config;
  const auto eos = checkpoint.load_tokenizer()->eos;
  if (eos.size() > 1) config["eos_token_id"] = eos;
  if (eos.size() == 1) config["eos_token_id"] = eos.front();
  return config;
}

/// What a Hugging Face folder has beside its configuration and weights.
void copy_tokenizer_files(const fs::path& from, const fs::path& out) {
  for (const char* file : {"tokenizer.json", "tokenizer.model", "tokenizer_config.json",
                           "special_tokens_map.json", "chat_template.jinja", "chat_template.json"}) {
    if (!file_exists(from / file)) continue;
    const MappedFile source(from / file);
    AtomicFile copy(out / file);
    copy.write(source.bytes());
    copy.commit();
  }
}

/// A new or empty folder, which is as it was before unless all of it was written.
class OutputFolder {
 public:
  explicit OutputFolder(const fs::path& path) : path_(path) {
    std::error_code error;
    is_new_ = fs::create_directories(path_, error);
    if (error || !fs::is_directory(path_, error)) {
      throw Error(ErrorKind::NotFound, "{}: cannot create the folder: {}", path_.string(), error.message());
    }
    const bool empty = fs::is_empty(path_, error);
    if (error || !empty) throw Error("{}: the folder is not empty", path_.string());
  }
  ~OutputFolder() {
    if (complete_) return;
    std::error_code nothing;
    std::vector<fs::path> written;
    for (const auto& entry : fs::directory_iterator(path_, nothing)) written.push_back(entry.path());
    for (const fs::path& file : written) fs::remove_all(file, nothing);
    if (is_new_) fs::remove(path_, nothing);
  }
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  void complete() { complete_ = true; }

 private:
  const fs::path path_;
  bool is_new_ = false;
  bool complete_ = false;
};

/// Files of Mamba2's layers have the decays otherwise than Hugging Face's classes read them.
void require_a_folders_form(const Checkpoint& checkpoint) {
  if (!checkpoint.is_gguf()) return;
  const GgufArchitecture* const architecture = gguf_architecture_of(*checkpoint.gguf());
  if (architecture == nullptr || !architecture->mamba) return;
  throw Error(
      ErrorKind::Unsupported,
      "{}: a folder cannot be made of a file of architecture {:?}, whose layers' weights are laid out "
      "for GGUF: expected its Hugging Face folder, or `augur quantize` for another file",
      checkpoint.path().string(), architecture->name);
}

}  // namespace

void write_tokenizer(const Checkpoint& checkpoint, const fs::path& out) {
  if (checkpoint.is_gguf()) {
    write_gguf_tokenizer(checkpoint, out);
  } else {
    copy_tokenizer_files(checkpoint.path(), out);
  }
  if (const auto config = generation_config(checkpoint); !config.empty()) {
    write_json(out / "generation_config.json", config);
  }
}

void convert_to_folder(const Checkpoint& checkpoint, const fs::path& out, const ConvertOptions& options) {
  require_a_folders_form(checkpoint);
  const std::vector<FolderTensor> tensors = folder_tensors(checkpoint);  // fails before anything is written
  OutputFolder folder(out);
  try {
    write_tokenizer(checkpoint, out);
    write_weights(tensors, out, options);
    auto config = checkpoint.config();
    config["torch_dtype"] = "bfloat16";
    config.erase("quantization_config");
    DeltaFolder::change(config);
    write_json(out / "config.json", config);  // last: a folder without it is not a model
    folder.complete();
  } catch (const nlohmann::json::exception& e) {
    throw Error("{}: cannot be written as JSON: {}", checkpoint.path().string(), e.what());
  }
}

}  // namespace augur
