// Format: https://github.com/huggingface/safetensors#format
#include "files/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "files/json_reader.h"
#include "files/mapped_file.h"
#include "files/sharded_weights.h"

namespace augur {

namespace {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the reference implementation's bound

DType dtype_of(const std::string& text, const std::string& file, const std::string& tensor) {
  for (const DType type : {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32,
                           DType::I16, DType::I8, DType::U8, DType::Bool}) {
    if (name(type) == text) return type;
  }
  throw Error(ErrorKind::Unsupported, "{}: tensor {}: unsupported element type {}", file, tensor, text);
}

std::int64_t non_negative(const nlohmann::json& value, const std::string& file, const std::string& tensor,
                          const char* field) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMax) {
    throw Error("{}: tensor {}: {} must be non-negative integers, found {}", file, tensor, field,
                value.is_number() ? value.dump() : value.type_name());
  }
  return static_cast<std::int64_t>(value.get<std::uint64_t>());
}

const nlohmann::json& member(const nlohmann::json& entry, const char* key, nlohmann::json::value_t type,
                             const std::string& file, const std::string& tensor) {
  const auto it = entry.find(key);
  if (it == entry.end()) throw Error("{}: tensor {}: {} is missing", file, tensor, key);
  if (it->type() != type) {
    throw Error("{}: tensor {}: {} has the wrong type ({})", file, tensor, key, it->type_name());
  }
  return *it;
}

StoredTensor parse_entry(const nlohmann::json& entry, std::span<const std::byte> data,
                         const std::string& file, const std::string& tensor) {
  using Type = nlohmann::json::value_t;
  if (!entry.is_object()) throw Error("{}: tensor {}: expected an object in the header", file, tensor);
  StoredTensor result;
  result.name = tensor;
  result.file = file;
  result.dtype = dtype_of(member(entry, "dtype", Type::string, file, tensor).get_ref<const std::string&>(),
                          file, tensor);
  for (const auto& size : member(entry, "shape", Type::array, file, tensor)) {
    result.shape.push_back(non_negative(size, file, tensor, "dimensions"));
  }
  const auto& offsets = member(entry, "data_offsets", Type::array, file, tensor);
  if (offsets.size() != 2) throw Error("{}: tensor {}: data_offsets must be two numbers", file, tensor);
  const std::int64_t begin = non_negative(offsets[0], file, tensor, "data_offsets");
  const std::int64_t end = non_negative(offsets[1], file, tensor, "data_offsets");
  if (begin > end || static_cast<std::uint64_t>(end) > data.size()) {
    throw Error("{}: tensor {}: data_offsets [{}, {}] lie outside the {} bytes of data", file, tensor, begin,
                end, data.size());
  }
  const auto expected = storage_bytes(result.dtype, result.shape);
  if (!expected || *expected != end - begin) {
    throw Error("{}: tensor {}: {} of shape {} does not take the {} bytes between its data_offsets", file,
                tensor, name(result.dtype), to_string(result.shape), end - begin);
  }
  result.bytes = data.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  return result;
}

/// The tensors, sorted by place, must tile the data area.
void check_tiling(const std::vector<StoredTensor>& tensors, std::span<const std::byte> data,
                  const std::string& file) {
  std::vector<const StoredTensor*> by_place;
  by_place.reserve(tensors.size());
  for (const auto& tensor : tensors) by_place.push_back(&tensor);
  std::sort(by_place.begin(), by_place.end(), [](const StoredTensor* a, const StoredTensor* b) {
    return std::pair(a->bytes.data(), a->bytes.size()) < std::pair(b->bytes.data(), b->bytes.size());
  });
  const std::byte* place = data.data();
  for (const StoredTensor* tensor : by_place) {
    if (tensor->bytes.data() < place)
      throw Error("{}: tensor {} overlaps another tensor", file, tensor->name);
    if (tensor->bytes.data() > place) throw Error("{}: unused bytes before tensor {}", file, tensor->name);
    place += tensor->bytes.size();
  }
  if (place != data.data() + data.size()) {
    throw Error("{}: {} bytes after the last tensor", file, data.data() + data.size() - place);
  }
}

class SafetensorsStore final : public WeightStore {
 public:
  explicit SafetensorsStore(const std::filesystem::path& path) : file_(path) {
    description_ = path.string();
    identity_ = file_.identity();
    for (auto& tensor : parse_safetensors(file_.bytes(), file_.path())) {
      std::string key = tensor.name;
      tensors_.emplace(std::move(key), std::move(tensor));
    }
  }

 private:
  MappedFile file_;
};

}  // namespace

std::vector<StoredTensor> parse_safetensors(std::span<const std::byte> file, const std::string& name) {
  std::uint64_t length = 0;
  if (file.size() < sizeof length)
    throw Error("{}: truncated: a safetensors file has at least 8 bytes", name);
  std::memcpy(&length, file.data(), sizeof length);
  if (length > kMaxHeaderBytes)
    throw Error("{}: the header claims {} bytes: not a safetensors file?", name, length);
  if (length > file.size() - sizeof length) {
    throw Error("{}: truncated: the header claims {} bytes, {} follow", name, length,
                file.size() - sizeof length);
  }
  const auto data = file.subspan(sizeof length + length);
  const auto header = parse_json(
      {reinterpret_cast<const char*>(file.data()) + sizeof length, static_cast<std::size_t>(length)}, name);
  if (!header.is_object()) throw Error("{}: the header is not a JSON object", name);
  std::vector<StoredTensor> tensors;
  tensors.reserve(header.size());
  for (const auto& [key, entry] : header.items()) {
    if (key != "__metadata__") tensors.push_back(parse_entry(entry, data, name, key));
  }
  check_tiling(tensors, data, name);
  return tensors;
}

std::unique_ptr<WeightStore> open_safetensors(const std::filesystem::path& file) {
  return std::make_unique<SafetensorsStore>(file);
}

bool has_safetensors(const std::filesystem::path& folder) {
  return file_exists(folder / "model.safetensors") || file_exists(folder / "model.safetensors.index.json");
}

std::unique_ptr<WeightStore> open_safetensors_folder(const std::filesystem::path& folder) {
  if (file_exists(folder / "model.safetensors")) return open_safetensors(folder / "model.safetensors");
  if (const auto index = folder / "model.safetensors.index.json"; file_exists(index)) {
    return open_sharded_weights(index, open_safetensors);
  }
  throw Error(ErrorKind::NotFound,
              "{}: no weights: expected model.safetensors or pytorch_model.bin, or an index of shards of one",
              folder.string());
}

}  // namespace augur
