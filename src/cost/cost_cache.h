#pragma once
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/log.h"
#include "cost/cost.h"
#include "cost/measured_file.h"
#include "model/model.h"

namespace augur {

class Checkpoint;

/// Tells a draft model or head from others, as far as its costs go: a hash of where its files are, how large
/// and how old.
std::string draft_identity(const Checkpoint& checkpoint);

/// Costs that earlier processes measured: one JSON file per machine, model and way of running it, with a
/// section per drafter. What is not there or damaged is measured anew. One thread at a time; of what several
/// engines have measured and written meanwhile the shorter times stay.
class CostCache {
 public:
  /// An empty folder: nothing is kept. Reads the file if there is one; one warning if it is damaged.
  CostCache(const std::filesystem::path& folder, const Model& target, const std::string& target_path,
            Log log);

  /// Where the figures are kept; empty: nowhere.
  const std::filesystem::path& file() const { return file_.path(); }
  const Log& log() const { return log_; }
  /// False: there are none.
  bool load_target(CostModel& costs) const;
  bool load_drafter(const std::string& key, DraftCosts& costs) const;
  /// What is kept is not this machine's: no costs of it are believed, here or after the next save().
  void drop();
  void store_target(const CostModel& costs) { known_.target = costs; }
  void store_drafter(const std::string& key, const DraftCosts& costs) { known_.drafters[key] = costs; }
  /// Writes the file. A warning, once, when that fails, whatever the reason: nothing is thrown.
  void save() noexcept;

 private:
  struct Costs {
    CostModel target;
    std::map<std::string, DraftCosts> drafters;  ///< by their keys
  };
  Costs read(nlohmann::json& found) const;
  void merge_others();
  void warn(const std::string& text);

  ExpertDemand experts_;
  MeasuredFile file_;
  Log log_;
  bool warned_ = false;
  bool dropped_ = false;  ///< what the file holds is to go
  Costs known_;
  nlohmann::json on_disk_;  ///< as it was last read or written here
};

}  // namespace augur
