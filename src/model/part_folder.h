#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "files/json_fields.h"
#include "files/weight_store.h"
#include "model/fingerprint.h"

namespace augur {

/// A part that was made offline, of a policy or a draft vocabulary: config.json with "augur_part" and
/// "format", and model.safetensors where it has tensors. Errors name file and field or tensor.
class PartFolder {
 public:
  enum class Tensors { None, Some };
  /// Error unless the folder holds a part of that kind, in format 1.
  PartFolder(const std::filesystem::path& folder, std::string_view kind, Tensors tensors = Tensors::Some);

  const std::string& file() const { return file_; }  ///< config.json, for messages
  const nlohmann::json& json() const { return json_; }
  const JsonFields& config() const { return fields_; }
  const WeightStore& store() const { return *store_; }  ///< of a part with tensors
  /// Compares the part's target with this one as check_fingerprint() does; null: with nothing.
  std::string check_target(const Fingerprint* target, Strictness strictness) const;
  /// Whether check_target() would let it be used.
  bool fits(const Fingerprint& target, Strictness strictness) const;
  /// Error unless "vocab" is the number given.
  void require_vocab(std::int32_t vocab) const;
  /// An I64 or I32 tensor of that shape.
  std::vector<std::int64_t> integers(const std::string& name, const Shape& shape) const;
  /// A vector or matrix of that shape as float32, all of it finite.
  std::vector<float> floats(const std::string& name, const Shape& shape) const;

 private:
  std::string file_;
  nlohmann::json json_;
  JsonFields fields_;
  std::unique_ptr<WeightStore> store_;  ///< null without tensors
};

}  // namespace augur
