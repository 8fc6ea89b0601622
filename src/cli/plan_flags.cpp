#include "cli/plan_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "augur/engine.h"
#include "base/error.h"
#include "plan/keys.h"
#include "policy/registry.h"

namespace augur::cli {
namespace {

/// Runs `body`; what it finds wrong becomes an error of the command line.
template <class Body>
void as_usage_error(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    throw CLI::ValidationError(error.what());
  }
}

std::string help_of(const PlanKey& key) {
  std::string help(key.help);
  if (!std::holds_alternative<PolicyChoice SpeculationPlan::*>(key.member)) return help;
  for (const SpeculationPolicy& policy : speculation_policies()) {
    help += fmt::format("\n{}: {}", policy.name, policy.summary);
  }
  return help;
}

void add_flag_of(CLI::App& command, const PlanKey& key, SpeculationPlan& plan) {
  const std::string flag(key.flag);
  if (std::holds_alternative<bool SpeculationPlan::*>(key.member)) {
    command.add_flag_callback(
        flag, [&plan, &key] { set_value(plan, key, "0", &PlanKey::flag); }, help_of(key));
    return;
  }
  CLI::Option* option = command.add_option_function<std::string>(
      flag,
      [&plan, &key](const std::string& value) {
        as_usage_error([&] { set_value(plan, key, value, &PlanKey::flag); });
      },
      help_of(key));
  if (!key.value.empty()) {
    option->type_name(std::string(key.value));
  } else {
    option->type_name("NUMBER")->default_str(fmt::format("{}", key.usual));
  }
}

/// Every type with what it proposes, a line each.
std::string type_summaries() {
  std::string lines;
  for (const SpeculationType& type : speculation_types()) {
    lines += fmt::format("\n{}: {}", type.name, type.summary);
  }
  return lines;
}

/// Whatever model it drafts for: of "auto" and some types the engine has to look at that.
bool needs_draft_model(const std::string& name) {
  const std::vector<SpeculationType> types = speculation_types();
  return std::any_of(types.begin(), types.end(), [&](const SpeculationType& type) {
    return type.name == name && type.needs_draft_model && !type.in_models;
  });
}

}  // namespace

void add_plan_flag(CLI::App& command, std::string_view key, SpeculationPlan& plan) {
  add_flag_of(command, find_plan_key(key), plan);
}

void add_speculation_flags(CLI::App& command, SpeculationPlan& plan) {
  command.option_defaults()->group("Speculation");
  command
      .add_option_function<std::string>(
          "--spec-type",
          [&plan](const std::string& text) {
            try {
              plan = SpeculationPlan::parse(text, plan);
            } catch (const Error& error) {
              throw CLI::ValidationError("--spec-type", error.what());
            }
          },
          "What drafts; several draft one tree together: eagle3,ngram. Default: none; with -md, or a model "
          "that has layers of its own to draft with, auto, and under the policy auto ngram beside it. "
          "Settings may follow, as in eagle3:policy=hetero,topk=8; flags come on top\nnone: nothing\n"
          "auto: what the files of -md are made for, or the model's own layers" +
              type_summaries())
      ->type_name("TYPE[,TYPE...]");
  for (const PlanKey& key : plan_keys()) {
    if (command.get_option_no_throw(std::string(key.flag)) == nullptr) add_flag_of(command, key, plan);
  }
  command.parse_complete_callback([&command, &plan] {
    const bool has_draft_model = command.get_option("--spec-draft-model")->count() > 0;
    for (const std::string& name : plan.drafters) {
      if (needs_draft_model(name) && !has_draft_model) {
        throw CLI::ValidationError("--spec-type", name + " needs a draft model: -md MODEL");
      }
    }
    as_usage_error([&] {
      check_plan(plan, &PlanKey::flag);
      if (!plan.plain()) check_limits(plan, &PlanKey::flag);
    });
  });
}

}  // namespace augur::cli
