#include "files/sharded_weights.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "files/json_reader.h"
#include "files/mapped_file.h"

namespace augur {

namespace {

/// The tensors that the index expects in each file.
std::map<std::string, std::vector<std::string>> read_index(const std::filesystem::path& index) {
  const std::string name = index.string();
  const auto document = read_json(index);
  const auto map = document.is_object() ? document.find("weight_map") : document.end();
  if (!document.is_object() || map == document.end() || !map->is_object()) {
    throw Error("{}: expected an object weight_map", name);
  }
  std::map<std::string, std::vector<std::string>> expected;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string()) throw Error("{}: tensor {}: expected a file name", name, tensor);
    const auto& file = shard.get_ref<const std::string&>();
    // An index must not make us read files elsewhere.
    if (file.empty() || file == "." || file == ".." || file.find('/') != std::string::npos ||
        file.find('\0') != std::string::npos) {
      throw Error("{}: tensor {}: the shard {:?} is not a plain file name", name, tensor, file);
    }
    expected[file].push_back(tensor);
  }
  return expected;
}

class ShardedStore final : public WeightStore {
 public:
  explicit ShardedStore(std::string description) { description_ = std::move(description); }

  void add(std::unique_ptr<WeightStore> shard, const std::string& file) {
    for (const auto& [name, tensor] : shard->tensors()) {
      const auto [other, fresh] = tensors_.emplace(name, tensor);
      if (!fresh) throw Error("{}: tensor {} is also in {}", file, name, other->second.file);
    }
    identity_ += shard->identity() + "\n";
    shards_.push_back(std::move(shard));
  }

 private:
  std::vector<std::unique_ptr<WeightStore>> shards_;  ///< own the bytes
};

}  // namespace

std::unique_ptr<WeightStore> open_sharded_weights(
    const std::filesystem::path& index,
    const std::function<std::unique_ptr<WeightStore>(const std::filesystem::path&)>& open) {
  auto store = std::make_unique<ShardedStore>(index.parent_path().string());
  for (const auto& [file, names] : read_index(index)) {
    const auto path = index.parent_path() / file;
    if (!file_exists(path))
      throw Error(ErrorKind::NotFound, "{}: the shard {} is missing", index.string(), file);
    store->add(open(path), path.string());
    for (const std::string& tensor : names) {
      const StoredTensor* found = store->find(tensor);
      if (found == nullptr || found->file != path.string()) {
        throw Error("{}: tensor {} should be in {} and is not", index.string(), tensor, file);
      }
    }
  }
  return store;
}

}  // namespace augur
