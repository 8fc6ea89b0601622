#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/plan.h"

namespace augur {

/// The text form of a plan taken apart: TYPE[,TYPE...][:KEY=VALUE,...].
struct PlanText {
  std::vector<std::string> drafters;
  std::vector<std::pair<std::string, std::string>> settings;  ///< as written, with their backslashes
};

/// Error for a setting that is not KEY=VALUE.
PlanText split_plan(std::string_view text);

/// The characters that a written value stands for: those behind a backslash are taken as they are.
std::string unescaped(std::string_view written);

/// Adds what is written to `plan`, names as they are: they are anyone's who knows which there are. Error
/// naming the key.
void apply(const PlanText& text, SpeculationPlan& plan);

/// NAME[:KEY=VALUE...], separated by ',' or ';'. `name`: what the choice is called in errors.
PolicyChoice read_policy(std::string_view text, std::string_view name);
/// TYPE.KEY=VALUE..., separated in the same way.
std::map<std::string, std::string> read_drafter_settings(std::string_view text, std::string_view name);

}  // namespace augur
