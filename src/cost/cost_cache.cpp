#include "cost/cost_cache.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "cost/cost_file.h"
#include "cost/measured_file.h"
#include "files/json_reader.h"

namespace augur {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKind = "augur_costs";
constexpr int kCostsFormat = 2;

/// Everything that costs depend on beside the rows.
nlohmann::json circumstances(const Model& target) {
  nlohmann::json all = circumstances(target.backend());
  all["weight_bytes"] = target.weight_bytes();
  all["target"] = to_json(target.fingerprint());
  return all;
}

}  // namespace

std::string draft_identity(const Checkpoint& checkpoint) {
  std::error_code ignored;
  const fs::path path = fs::weakly_canonical(checkpoint.path(), ignored);
  std::string known = path.string();
  const auto add = [&](const fs::path& file) {
    const auto size = fs::file_size(file, ignored);
    const auto written = fs::last_write_time(file, ignored).time_since_epoch().count();
    known += fmt::format("|{}:{}:{}", file.filename().string(), size, written);
  };
  if (!fs::is_directory(path, ignored)) {
    add(path);
  } else {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path, ignored)) {
      if (entry.is_regular_file(ignored)) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) add(file);
  }
  return hash_text(known);
}

CostCache::CostCache(const fs::path& folder, const Model& target, const std::string& target_path,
                     Warning warning)
    : warning_(std::move(warning)), experts_(ExpertDemand::of(target.config())) {
  const nlohmann::json key = circumstances(target);
  content_ = {{kKind, kCostsFormat}, {"for", key}, {"drafters", nlohmann::json::object()}};
  if (folder.empty()) return;
  std::string stem = fs::path(target_path).filename().string();
  if (stem.empty()) stem = fs::path(target_path).parent_path().filename().string();
  file_ = measured_file(folder, stem, key);
  try {
    const nlohmann::json found = read_measured(file_, kKind, kCostsFormat, key);
    if (found.empty()) return;
    CostModel checked(experts_);
    if (found.contains("target")) read_target_costs(found["target"], file_.string(), checked);
    if (!found.contains("drafters") || !found["drafters"].is_object()) {
      throw Error("{}: drafters: expected an object", file_.string());
    }
    for (const auto& [name, drafter] : found["drafters"].items()) {
      read_draft_costs(drafter, file_.string(), checked.drafter(name));
    }
    content_.update(found);
    on_disk_ = found;
  } catch (const Error& error) {
    warn(fmt::format("{}; costs are measured anew", error.what()));
  }
}

bool CostCache::load_target(CostModel& costs) {
  if (!content_.contains("target")) return false;
  read_target_costs(content_["target"], file_.string(), costs);
  return true;
}

bool CostCache::load_drafter(const std::string& key, DraftCosts& costs) {
  if (!content_["drafters"].contains(key)) return false;
  read_draft_costs(content_["drafters"][key], file_.string(), costs);
  return true;
}

void CostCache::drop() {
  dropped_ = content_.erase("target") > 0;
  content_["drafters"] = nlohmann::json::object();
}

void CostCache::store_target(const CostModel& costs) {
  content_["target"] = target_costs_to_json(costs);
}

void CostCache::store_drafter(const std::string& key, const DraftCosts& costs) {
  content_["drafters"][key] = draft_costs_to_json(costs);
}

/// What other engines have found out in the meantime stays: other drafters, and shorter times.
void CostCache::merge_others() {
  try {
    const nlohmann::json found = read_json_object_if_exists(file_);
    if (found == on_disk_ || found.value("for", nlohmann::json()) != content_["for"]) return;
    if (found.contains("target") && content_.contains("target")) {
      CostModel own(experts_);
      CostModel other(experts_);
      read_target_costs(content_["target"], file_.string(), own);
      read_target_costs(found["target"], file_.string(), other);
      own.improve(other);
      store_target(own);
    }
    for (const auto& [name, entry] : found.at("drafters").items()) {
      DraftCosts costs;
      read_draft_costs(entry, file_.string(), costs);
      if (content_["drafters"].contains(name)) {
        DraftCosts own;
        read_draft_costs(content_["drafters"][name], file_.string(), own);
        costs.improve(own);
      }
      store_drafter(name, costs);
    }
  } catch (const std::exception&) {  // damaged since: it is about to be replaced
  }
}

void CostCache::save() noexcept {
  if (file_.empty()) return;
  try {
    if (!std::exchange(dropped_, false)) merge_others();
    try {
      write_measured(file_, content_);
      on_disk_ = content_;
    } catch (const Error& error) {
      warn(error.what());
    }
  } catch (...) {  // no memory, or a warning that throws: figures are not worth a generation
  }
}

void CostCache::warn(const std::string& text) {
  if (warning_ && !std::exchange(warned_, true)) warning_(text);
}

}  // namespace augur
