#include "lab/suite/method.h"

#include <fstream>
#include <string_view>

#include "base/error.h"
#include "engine/plan_names.h"
#include "plan/text.h"
#include "policy/registry.h"
#include "vocab/vocabulary_spec.h"

namespace augur {
namespace {

namespace fs = std::filesystem;

void find_files(SpeculationPlan& plan, const fs::path& parts) {
  if (const auto part = plan.policy.settings.find("model"); part != plan.policy.settings.end()) {
    part->second = part_path(part->second, parts);
  }
  if (plan.draft_vocabulary.empty()) return;
  VocabularySpec vocabulary = VocabularySpec::parse(plan.draft_vocabulary);
  if (!vocabulary.path.empty()) vocabulary.path = part_path(vocabulary.path, parts);
  plan.draft_vocabulary = to_string(vocabulary);
}

/// "vocab=KIND:SIZE" of "vocab=KIND:FILE:SIZE"; other settings as they are.
std::string without_path(const std::string& key, const std::string& value) {
  if (key != "vocab") return key + "=" + value;
  VocabularySpec vocabulary = VocabularySpec::parse(unescaped(value));
  vocabulary.path.clear();
  return key + "=" + to_string(vocabulary);
}

/// The text without model=...: what tells methods apart for the eye.
std::string short_text(const PlanText& text) {
  std::string out = fmt::format("{}", fmt::join(text.drafters, ","));
  char separator = ':';
  for (const auto& [key, value] : text.settings) {
    if (key == "model") continue;
    out += separator + without_path(key, value);
    separator = ',';
  }
  return out;
}

/// Takes the setting out of the text; empty where there is none.
std::string take(PlanText& text, std::string_view key) {
  std::string value;
  const auto taken = std::erase_if(text.settings, [&](const auto& setting) {
    if (setting.first != key) return false;
    value = unescaped(setting.second);
    return true;
  });
  if (taken > 1) throw Error("{} is given twice", key);
  return value;
}

}  // namespace

std::vector<std::string> with_method_files(const std::vector<std::string>& texts) {
  std::vector<std::string> methods;
  for (const std::string& text : texts) {
    if (!text.starts_with('@')) {
      methods.push_back(text);
      continue;
    }
    const std::string file = text.substr(1);
    std::ifstream in(file);
    if (!in) throw Error("{}: can't be read", file);
    const std::size_t before = methods.size();
    for (std::string line; std::getline(in, line);) {
      const std::size_t begin = line.find_first_not_of(" \t\r");
      if (begin == std::string::npos || line[begin] == '#') continue;
      methods.push_back(line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin));
    }
    if (methods.size() == before) throw Error("{}: names no method", file);
  }
  return methods;
}

std::string part_path(const std::string& name, const fs::path& parts) {
  if (!parts.empty() && fs::exists(parts / name)) return (parts / name).string();
  return name;
}

Method parse_method(const std::string& text, const SpeculationPlan& base, const fs::path& parts) {
  Method method{
      .text = text, .label = {}, .draft_model = {}, .keeps_learnt = false, .speculation = base, .server = {}};
  try {
    PlanText written = split_plan(text);
    if (written.drafters.empty()) throw Error("expected plain or speculation types");
    method.label = take(written, "label");
    if (method.label.empty()) method.label = short_text(written);
    if (const std::string keep = take(written, "keep"); !keep.empty()) {
      if (keep != "0" && keep != "1") throw Error("keep: expected 0 or 1, found '{}'", keep);
      method.keeps_learnt = keep == "1";
    }
    if (const std::string model = take(written, "model"); !model.empty()) {
      method.draft_model = part_path(model, parts);
    }
    apply(written, method.speculation);
    use_canonical_names(method.speculation);
    if (!method.plain()) check_limits(method.speculation);
    find_files(method.speculation, parts);
  } catch (const Error& error) {
    throw Error("{}: {}", text, error.what());
  }
  return method;
}

}  // namespace augur
