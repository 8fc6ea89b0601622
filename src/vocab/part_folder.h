#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_fields.h"
#include "io/weight_store.h"

namespace augur {

/// A part that was made offline: config.json with "augur_part" and "format", and model.safetensors. Errors
/// name file and field or tensor.
class PartFolder {
 public:
  /// Error unless the folder holds a part of that kind, in format 1.
  PartFolder(const std::filesystem::path& folder, std::string_view kind);

  const std::string& file() const { return file_; }  ///< config.json, for messages
  const nlohmann::json& json() const { return json_; }
  const JsonFields& config() const { return fields_; }
  const WeightStore& store() const { return *store_; }
  /// Error unless "vocab" is the number given.
  void require_vocab(std::int32_t vocab) const;
  /// An I64 or I32 tensor of that shape.
  std::vector<std::int64_t> integers(const std::string& name, const Shape& shape) const;

 private:
  std::string file_;
  nlohmann::json json_;
  JsonFields fields_;
  std::unique_ptr<WeightStore> store_;
};

}  // namespace augur
