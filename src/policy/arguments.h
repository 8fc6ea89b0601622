#pragma once
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "augur/plan.h"
#include "plan/own_settings.h"

namespace augur {

/// A policy's own settings and the limits of the plan that it is part of, as the policy reads them: each
/// setting once; what has not been read is unknown.
class PolicyArguments : public OwnSettings {
 public:
  /// `plan` names its policy. It outlives this.
  explicit PolicyArguments(const SpeculationPlan& plan);

  const SpeculationPlan& plan() const { return plan_; }
  const std::string& name() const { return plan_.policy.name; }

  /// One of the plan's limits: the policy's own setting of its key (or of `own`), otherwise the plan's,
  /// otherwise `usual`, otherwise what the table of keys says. An Error names policy and setting where the
  /// value is out of the limit's range.
  int limit(std::optional<int> SpeculationPlan::*limit, std::string_view own = {},
            std::optional<int> usual = {});
  double limit(std::optional<double> SpeculationPlan::*limit);
  std::string limit(std::string SpeculationPlan::*limit);

  /// As OwnSettings has it, and Error for a limit of the plan that nobody has asked for.
  void check_all_read() const;

 private:
  const SpeculationPlan& plan_;
  std::set<std::string_view> read_limits_;  ///< by PlanKey::key
};

}  // namespace augur
