#include "cost/cost_cache.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "cost/cost_file.h"
#include "model/device.h"

namespace augur {
namespace {

namespace fs = std::filesystem;

/// Everything that costs depend on beside the rows.
nlohmann::json circumstances(const Model& target) {
  nlohmann::json all = circumstances(target.backend());
  all["device"] = std::string(target.device().name());
  all["weight_bytes"] = target.weight_bytes();
  all["target"] = to_json(target.fingerprint());
  return all;
}

/// A file's name, or a folder's, whether or not it ends with a slash.
std::string stem_of(const fs::path& path) {
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

}  // namespace

std::string draft_identity(const Checkpoint& checkpoint) {
  std::error_code ignored;
  const fs::path path = fs::weakly_canonical(checkpoint.path(), ignored);
  std::vector<fs::path> files;
  if (!fs::is_directory(path, ignored)) files.push_back(path);
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    if (entry.is_regular_file(ignored)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::string known = path.string();
  for (const fs::path& file : files) {
    const auto written = fs::last_write_time(file, ignored).time_since_epoch().count();
    known += fmt::format("|{}:{}:{}", file.filename().string(), fs::file_size(file, ignored), written);
  }
  return hash_text(known);
}

CostCache::CostCache(const fs::path& folder, const Model& target, const std::string& target_path, Log log)
    : experts_(ExpertDemand::of(target.config())),
      file_(folder, stem_of(target_path), "augur_costs", circumstances(target)),
      log_(std::move(log)),
      known_{.target = CostModel(experts_), .drafters = {}} {
  try {
    known_ = read(on_disk_);
  } catch (const Error& error) {
    warn(fmt::format("{}; costs are measured anew", error.what()));
  }
}

/// The file's, which is `found`.
CostCache::Costs CostCache::read(nlohmann::json& found) const {
  Costs costs{.target = CostModel(experts_), .drafters = {}};
  nlohmann::json content = file_.read();
  if (!content.empty()) {
    const std::string file = file_.path().string();
    if (content.contains("target")) read_target_costs(content["target"], file, costs.target);
    if (!content.contains("drafters") || !content["drafters"].is_object())
      throw Error("{}: drafters: expected an object", file);
    for (const auto& [key, drafter] : content["drafters"].items())
      read_draft_costs(drafter, file, costs.drafters[key]);
  }
  found = std::move(content);
  return costs;
}

bool CostCache::load_target(CostModel& costs) const {
  if (!known_.target.measured()) return false;
  costs.replace_target(known_.target);
  return true;
}

bool CostCache::load_drafter(const std::string& key, DraftCosts& costs) const {
  const auto found = known_.drafters.find(key);
  if (found == known_.drafters.end()) return false;
  costs = found->second;
  return true;
}

void CostCache::drop() {
  dropped_ = known_.target.measured();
  known_ = {.target = CostModel(experts_), .drafters = {}};
}

/// What other engines have found out in the meantime stays: other drafters, and shorter times.
void CostCache::merge_others() {
  try {
    nlohmann::json found;
    const Costs others = read(found);
    if (found == on_disk_) return;
    known_.target.improve(others.target);
    for (const auto& [key, costs] : others.drafters) known_.drafters[key].improve(costs);
  } catch (const std::exception&) {  // damaged since: it is about to be replaced
  }
}

void CostCache::save() noexcept {
  if (file().empty()) return;
  try {
    if (!std::exchange(dropped_, false)) merge_others();
    nlohmann::json content = {{"drafters", nlohmann::json::object()}};
    if (known_.target.measured()) content["target"] = target_costs_to_json(known_.target);
    for (const auto& [key, costs] : known_.drafters) content["drafters"][key] = draft_costs_to_json(costs);
    try {
      file_.write(content);
      on_disk_ = content;
    } catch (const Error& error) {
      warn(error.what());
    }
  } catch (...) {  // no memory, or a warning that throws: figures are not worth a generation
  }
}

void CostCache::warn(const std::string& text) {
  if (!std::exchange(warned_, true)) log_.warning("{}", text);
}

}  // namespace augur
