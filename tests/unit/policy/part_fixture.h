#pragma once
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "files/weight_store.h"

namespace augur::testing_support {

struct PartTensor {
  std::string name;
  Shape shape;
  std::vector<float> values;
};

inline void write_part_config(const std::filesystem::path& folder, const nlohmann::json& json) {
  std::ofstream(folder / "config.json") << json;
}

inline void write_part_tensors(const std::filesystem::path& folder, const std::vector<PartTensor>& list) {
  nlohmann::json header;
  std::string data;
  for (const PartTensor& t : list) {
    const std::size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(t.values.data()), t.values.size() * sizeof(float));
    header[t.name] = {{"dtype", "F32"}, {"shape", t.shape}, {"data_offsets", {begin, data.size()}}};
  }
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  std::ofstream out(folder / "model.safetensors", std::ios::binary);
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out << text << data;
}

/// A folder of a policy's part, written by the test that reads it.
class PartFiles {
 public:
  explicit PartFiles(const std::string& name)
      : folder_(std::filesystem::temp_directory_path() / ("augur_part_" + name)) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~PartFiles() { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_.string(); }
  void config(const nlohmann::json& json) const { write_part_config(folder_, json); }

  using Tensor = PartTensor;
  void tensors(const std::vector<Tensor>& list) const { write_part_tensors(folder_, list); }

 private:
  std::filesystem::path folder_;
};

}  // namespace augur::testing_support
