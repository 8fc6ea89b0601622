#pragma once
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "augur/plan.h"

namespace augur {

/// A setting that is on or off, as it is written: 0, 1, false, true, off, on; nothing for anything else.
std::optional<bool> flag_of(std::string_view value);

/// A policy's own settings and the limits of the plan that it is part of, as the policy reads them: each
/// setting once; what has not been read is unknown.
class PolicyArguments {
 public:
  /// `plan` names its policy. It outlives this.
  explicit PolicyArguments(const SpeculationPlan& plan) : plan_(plan) {}

  const SpeculationPlan& plan() const { return plan_; }
  const std::string& name() const { return plan_.policy.name; }
  bool has(const std::string& key) const { return plan_.policy.settings.count(key) > 0; }

  /// One of the plan's limits: the policy's own setting of its key (or of `own`), otherwise the plan's,
  /// otherwise `usual`, otherwise what the table of keys says. An Error names policy and setting where the
  /// value is out of the limit's range.
  int limit(std::optional<int> SpeculationPlan::*limit, std::string_view own = {},
            std::optional<int> usual = {});
  double limit(std::optional<double> SpeculationPlan::*limit);
  std::string limit(std::string SpeculationPlan::*limit);

  // Each gives `fallback` when the setting is absent, and throws an Error naming policy and setting when its
  // value is not as it must be.
  int integer(const std::string& key, int fallback, int low, int high);
  double number(const std::string& key, double fallback, double low, double high);
  bool flag(const std::string& key, bool fallback);  ///< flag_of()
  std::string text(const std::string& key, const std::string& fallback = "");

  /// Error naming a setting that nobody has asked for, and those that there are; or a limit of the plan that
  /// nobody has asked for.
  void check_all_read() const;

 private:
  [[noreturn]] void fail(const std::string& key, const std::string& problem) const;
  const std::string* find(const std::string& key);

  const SpeculationPlan& plan_;
  std::set<std::string> read_;
  std::set<std::string_view> read_limits_;  ///< by PlanKey::key
};

}  // namespace augur
