#include "lab/suite/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "draft/detect.h"
#include "draft/registry.h"
#include "files/json_reader.h"
#include "policy/registry.h"

namespace augur {
namespace {

namespace fs = std::filesystem;

/// A draft model in a GGUF file.
std::string kind_of_file(const fs::path& file, const Fingerprint& target, FoundPart& part) {
  const Checkpoint model = Checkpoint::open(file);
  part.drafter = true;
  return model.config().value("vocab_size", 0) == target.vocab ? std::string(detect_drafter_type(model)) : "";
}

/// What the folder holds for the target; nothing when it holds nothing for it. Error for what cannot be read.
std::string kind_of(const fs::path& folder, const Fingerprint& target, FoundPart& part) {
  const nlohmann::json config = read_json_object_if_exists(folder / "config.json");
  if (config.empty()) return {};
  const std::string file = (folder / "config.json").string();
  part.drafter = !config.contains("augur_part");
  if (!part.drafter) {
    if (!config["augur_part"].is_string()) return {};
    const std::string kind = config["augur_part"];
    check_fingerprint(file, config, target,
                      kind == "frspec" ? Strictness::SameVocabulary
                      : kind == "c2t"  ? Strictness::SameFamily
                                       : Strictness::SameModel);
    part.made_for = config.value("drafter", std::string());
    return kind;
  }
  const Checkpoint head = Checkpoint::open(folder);
  std::string kind(detect_drafter_type(head));
  if (kind == "draft") {
    if (config.value("vocab_size", 0) != target.vocab) return {};
  } else {
    check_fingerprint(file, config, target, Strictness::SameModel);
  }
  return kind;
}

/// Adds what lies in `folder`; `prefix` stands before the names.
void add_parts(const fs::path& folder, const std::string& prefix, const Fingerprint& target,
               std::vector<FoundPart>& found) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const bool gguf = entry.is_regular_file() && entry.path().extension() == ".gguf";
    if (!gguf && !entry.is_directory()) continue;
    FoundPart part;
    part.name = prefix + entry.path().filename().string();
    try {
      part.kind = gguf ? kind_of_file(entry.path(), target, part) : kind_of(entry.path(), target, part);
    } catch (const std::exception&) {
      continue;  // another model's, or nothing of ours
    }
    if (part.kind.empty()) continue;
    const bool holds_parts = part.drafter && !gguf && prefix.empty();
    const std::string inside = part.name + "/";
    found.push_back(std::move(part));
    if (holds_parts) add_parts(entry.path(), inside, target, found);
  }
}

/// The settings without those that say how much is verified, which is for a budget to say.
std::string without_size(std::string_view settings) {
  std::string out;
  for (std::string_view rest = settings; !rest.empty();) {
    const std::string_view setting = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), setting.size() + 1));
    if (setting.starts_with("n-max=") || setting.starts_with("size=")) continue;
    out += fmt::format("{}{}", out.empty() ? "" : ",", setting);
  }
  return out;
}

}  // namespace

std::vector<FoundPart> find_parts(const fs::path& parts, const Fingerprint& target) {
  std::vector<FoundPart> found;
  if (!fs::is_directory(parts)) throw Error("{}: not a folder", parts.string());
  add_parts(parts, "", target, found);
  std::sort(found.begin(), found.end(),
            [](const FoundPart& a, const FoundPart& b) { return a.name < b.name; });
  return found;
}

std::vector<std::string> default_methods(const std::vector<FoundPart>& parts, bool quick, bool budgeted) {
  const auto is_policy = [](const std::string& kind) {
    return std::any_of(policy_types().begin(), policy_types().end(),
                       [&](const PolicyType& policy) { return policy.name == kind; });
  };
  const auto sized = [&](const char* shape, const char* size) {
    return std::string(shape) + (budgeted ? "" : size);
  };
  std::vector<std::string> methods = {"plain"};
  for (const DrafterType& type : drafter_types()) {
    if (type.suite.empty() || (quick && !type.quick)) continue;
    methods.push_back(fmt::format("{}:{}", type.name, budgeted ? without_size(type.suite) : type.suite));
  }
  for (const FoundPart& drafter : parts) {
    if (!drafter.drafter) continue;
    const std::string base = fmt::format("{}:model={},", drafter.kind, drafter.name);
    const bool block = drafter.kind == "dflash" || drafter.kind == "dspark";
    if (!quick) methods.push_back(base + (budgeted ? "policy=chain" : "n-max=4"));
    if (!block) methods.push_back(base + sized("topk=4,depth=4", ",size=16"));
    if (!block && !quick) methods.push_back(base + sized("topk=8,depth=6", ",size=32"));
    for (const FoundPart& part : parts) {
      if (part.drafter || !is_policy(part.kind) || quick) continue;
      if (!part.made_for.empty() && part.made_for != drafter.kind + " " + drafter.name) continue;
      const std::string named = part.belongs_to(drafter) ? std::string() : ":model=" + part.name;
      methods.push_back(fmt::format("{}policy={}{}", base, part.kind, named));
    }
    for (const PolicyType& policy : policy_types()) {
      if (policy.suite == PolicyType::Suite::No || (quick && policy.suite != PolicyType::Suite::Quick))
        continue;
      methods.push_back(fmt::format("{}policy={}", base, policy.name));
    }
    methods.push_back(fmt::format("{},ngram:model={},policy=auto", drafter.kind, drafter.name));
  }
  return methods;
}

}  // namespace augur
