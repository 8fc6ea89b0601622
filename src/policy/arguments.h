#pragma once
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "augur/plan.h"
#include "plan/own_settings.h"

namespace augur {

/// A policy's own settings and the limits of its plan, as the policy reads them. Each setting is read once; a
/// setting that is never read is unknown.
class PolicyArguments : public OwnSettings {
 public:
  /// `plan` names its policy and must outlive this object.
  explicit PolicyArguments(const SpeculationPlan& plan);

  const SpeculationPlan& plan() const { return plan_; }
  const std::string& name() const { return plan_.policy.name; }

  /// One of the plan's limits: the policy's own setting with its key (or with `own`); otherwise the plan's;
  /// otherwise `usual`; otherwise the default in the table of keys. Throws Error that names policy and
  /// setting if the value is out of the limit's range.
  int limit(std::optional<int> SpeculationPlan::*limit, std::string_view own = {},
            std::optional<int> usual = {});
  double limit(std::optional<double> SpeculationPlan::*limit);
  std::string limit(std::string SpeculationPlan::*limit);

  /// As OwnSettings::check_all_read(); also throws Error for a limit that the plan sets and nobody has read.
  void check_all_read() const;

 private:
  const SpeculationPlan& plan_;
  std::set<std::string_view> read_limits_;  ///< by PlanKey::key
};

}  // namespace augur
