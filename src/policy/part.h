#pragma once
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "io/weight_store.h"
#include "model/fingerprint.h"

namespace augur {

/// What an offline calibration wrote for a policy: a folder with config.json and, where it has weights,
/// model.safetensors.
struct PolicyPart {
  std::string file;  ///< config.json, for messages
  nlohmann::json config;
  std::unique_ptr<WeightStore> store;  ///< null without tensors

  /// All elements of a tensor of that shape as float32. Error naming file and tensor, also for elements that
  /// are not finite.
  std::vector<float> tensor(const std::string& name, const Shape& shape) const;
};

/// Reads a part, which must be of that kind, in format 1, and made for `target` as strictly as told (null:
/// not compared). `warning` receives what check_fingerprint has to say.
PolicyPart read_policy_part(const std::filesystem::path& folder, std::string_view kind, bool with_tensors,
                            const Fingerprint* target, Strictness strictness, std::string* warning = nullptr);

}  // namespace augur
