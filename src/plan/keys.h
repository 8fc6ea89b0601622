#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "augur/plan.h"
#include "base/error.h"

namespace augur {

/// One setting of a plan. The rows of plan_keys() are all there is to say of them: whatever fills, checks or
/// shows plans goes by them.
struct PlanKey {
  using Member =
      std::variant<std::optional<int> SpeculationPlan::*, std::optional<double> SpeculationPlan::*,
                   std::string SpeculationPlan::*, bool SpeculationPlan::*, Verification SpeculationPlan::*,
                   PolicyChoice SpeculationPlan::*, std::map<std::string, std::string> SpeculationPlan::*>;
  /// The shape that a plan without a policy asks for by giving this.
  enum class Shape { None, Chain, Tree, Fixed };

  std::string_view key = {};    ///< in the text form
  std::string_view field = {};  ///< in SpeculationPlan and augur_engine_options
  std::string_view flag = {};   ///< of the program; of a switch, the one that turns it off
  Member member;
  Shape shape = Shape::None;
  double least = 0;  ///< of numbers, like the next two
  double most = 0;
  double usual = 0;             ///< where it is not given
  std::string_view value = {};  ///< what stands for the value in --help; empty: a number
  std::string_view help = {};

  /// Whether policies are made from it.
  bool for_policies() const {
    return shape != Shape::None || std::holds_alternative<PolicyChoice SpeculationPlan::*>(member);
  }
};

std::span<const PlanKey> plan_keys();

/// Error listing the keys.
const PlanKey& find_plan_key(std::string_view key);

/// The row of a member.
template <class T>
const PlanKey& key_of(T SpeculationPlan::*member) {
  for (const PlanKey& key : plan_keys()) {
    if (const auto* found = std::get_if<T SpeculationPlan::*>(&key.member); found && *found == member)
      return key;
  }
  throw Error(ErrorKind::Internal, "no key for a field of the plan");
}

/// The number given, otherwise the usual one.
template <class T>
T value_of(const SpeculationPlan& plan, std::optional<T> SpeculationPlan::*number) {
  return (plan.*number).value_or(static_cast<T>(key_of(number).usual));
}

/// Whether the plan has it from somewhere.
bool is_given(const SpeculationPlan& plan, const PlanKey& key);

/// Takes the value as it is written; a policy with its settings. Error for what it cannot be. Whatever these
/// functions call a key in their errors, is `name`: PlanKey::key, PlanKey::field or PlanKey::flag.
void set_value(SpeculationPlan& plan, const PlanKey& key, std::string_view value,
               std::string_view PlanKey::*name = &PlanKey::key);

/// Error for the first number out of range, and for settings that exclude each other.
void check_plan(const SpeculationPlan& plan, std::string_view PlanKey::*name = &PlanKey::field);

/// The policy that the plan asks for: the one that it names, otherwise what its limits say.
PolicyChoice policy_of(const SpeculationPlan& plan);

}  // namespace augur
