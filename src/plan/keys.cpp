#include "plan/keys.h"

#include <algorithm>
#include <charconv>
#include <type_traits>

#include "base/words.h"
#include "plan/text.h"

namespace augur {
namespace {

using Plan = SpeculationPlan;
using Shape = PlanKey::Shape;

constexpr int kMostTokens = 1024;  ///< of a chain

constexpr PlanKey kKeys[] = {
    {.key = "policy",
     .field = "policy",
     .flag = "--spec-policy",
     .member = &Plan::policy,
     .value = "POLICY",
     .help =
         "What shapes the drafts, NAME[:KEY=VALUE,...]; by default auto, or what the settings below ask for "
         "where any is given"},
    {.key = "n-max",
     .field = "draft_max",
     .flag = "--spec-draft-n-max",
     .member = &Plan::draft_max,
     .shape = Shape::Chain,
     .least = 1,
     .most = kMostTokens,
     .usual = 4,
     .help = "Tokens of a drafted chain, at most"},
    {.key = "n-min",
     .field = "draft_min",
     .flag = "--spec-draft-n-min",
     .member = &Plan::draft_min,
     .shape = Shape::Chain,
     .least = 0,
     .most = kMostTokens,
     .usual = 0,
     .help = "Shorter chains are not verified"},
    {.key = "p-min",
     .field = "draft_p_min",
     .flag = "--spec-draft-p-min",
     .member = &Plan::draft_p_min,
     .shape = Shape::Chain,
     .least = 0,
     .most = 1,
     .usual = 0,
     .help = "A chain ends before a token less probable than this (dspark: where its confidence is less)"},
    {.key = "topk",
     .field = "tree_topk",
     .flag = "--spec-tree-topk",
     .member = &Plan::tree_topk,
     .shape = Shape::Tree,
     .least = 1,
     .most = 256,
     .usual = 4,
     .help = "Candidates per node; 1: a chain"},
    {.key = "depth",
     .field = "tree_depth",
     .flag = "--spec-tree-depth",
     .member = &Plan::tree_depth,
     .shape = Shape::Tree,
     .least = 1,
     .most = 256,
     .usual = 4,
     .help = "Levels of the tree"},
    {.key = "size",
     .field = "tree_size",
     .flag = "--spec-tree-size",
     .member = &Plan::tree_size,
     .shape = Shape::Tree,
     .least = 2,
     .most = 4096,
     .usual = 16,
     .help = "Nodes verified, the newest token included"},
    {.key = "tree",
     .field = "static_tree",
     .flag = "--spec-tree",
     .member = &Plan::static_tree,
     .shape = Shape::Fixed,
     .value = "NAME|FILE",
     .help = "A fixed tree: mc_sim_7b_63, eagle_mc_sim_7b_63, or a JSON file of paths: [[0],[1],[0,0]]"},
    {.key = "ngram-min",
     .field = "ngram_min",
     .flag = "--spec-ngram-min",
     .member = &Plan::ngram_min,
     .least = 1,
     .most = 64,
     .usual = 1,
     .help = "ngram: shortest end of the text that is looked up in it"},
    {.key = "ngram-max",
     .field = "ngram_max",
     .flag = "--spec-ngram-max",
     .member = &Plan::ngram_max,
     .least = 1,
     .most = 64,
     .usual = 4,
     .help = "ngram: longest"},
    {.key = "exit",
     .field = "exit_layer",
     .flag = "--spec-layerskip-exit",
     .member = &Plan::exit_layer,
     .least = 0,
     .most = 1024,
     .usual = 0,
     .help = "layerskip: layers that draft; 0: as its files say, or a quarter of the model's"},
    {.key = "drafter",
     .field = "drafter_settings",
     .flag = "--spec-drafter",
     .member = &Plan::drafter_settings,
     .value = "TYPE.KEY=VALUE,...",
     .help = "Settings that drafters have of their own: recycling.prompts=1"},
    {.key = "vocab",
     .field = "draft_vocabulary",
     .flag = "--spec-vocab",
     .member = &Plan::draft_vocabulary,
     .value = "VOCABULARY",
     .help =
         "What the drafter's head computes: auto (the default: dynaspec or a quarter by frspec where "
         "that pays), full, frspec[:FILE][:SIZE] (the most frequent tokens), pafr (fewer "
         "at later steps), hot (follows the text), dynaspec[:FOLDER][:K|:K0,K1[:floor]] (clusters that suit "
         "the context); without a path, the part in the drafter's folder"},
    {.key = "verify",
     .field = "verification",
     .flag = "--spec-verify",
     .member = &Plan::verification,
     .value = "walk|rejection",
     .help = "walk: the same ids as plain decoding; rejection: drafts are drawn and accepted by rejection "
             "sampling, which keeps the distribution of the text but not its ids"},
    {.key = "coupling",
     .field = "coupling",
     .flag = "--no-spec-coupling",
     .member = &Plan::coupling,
     .value = "0|1",
     .help = "Drafters know the noise of the target's draws; without, they ignore it as in the papers"},
};

template <class Number>
Number parse_number(const PlanKey& key, std::string_view value, std::string_view name) {
  Number number{};
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool whole = problem == std::errc{} && end == value.data() + value.size();
  // NaN is in no range.
  if (whole && static_cast<double>(number) >= key.least && static_cast<double>(number) <= key.most)
    return number;
  throw Error(refused("speculative"), "{}: expected {} from {} to {}, found '{}'", name,
              std::is_same_v<Number, int> ? "an integer" : "a number", key.least, key.most, value);
}

template <class Number>
void check_number(const std::optional<Number>& number, const PlanKey& key, std::string_view name) {
  if (number) parse_number<Number>(key, fmt::format("{}", *number), name);
}

/// `low` is not above `high`, as far as they are given.
void check_order(const Plan& plan, std::optional<int> Plan::*low, std::optional<int> Plan::*high,
                 std::string_view PlanKey::*name) {
  if (value_of(plan, low) <= value_of(plan, high)) return;
  throw Error(refused("speculative"), "{} is {}: expected at most {}, which is {}", key_of(low).*name,
              value_of(plan, low), key_of(high).*name, value_of(plan, high));
}

/// Calls visit(member of the plan).
template <class Visit>
auto visit_member(const PlanKey& key, Visit&& visit) {
  return std::visit(visit, key.member);
}

}  // namespace

std::span<const PlanKey> plan_keys() {
  return kKeys;
}

const PlanKey& find_plan_key(std::string_view key) {
  std::string known;
  for (const PlanKey& row : kKeys) {
    if (row.key == key) return row;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.key);
  }
  throw Error(refused("speculative"), "'{}' is no setting of a plan: expected one of {}", key, known);
}

bool is_given(const Plan& plan, const PlanKey& key) {
  return visit_member(key, [&](auto member) { return plan.*member != Plan().*member; });
}

void set_value(Plan& plan, const PlanKey& key, std::string_view value, std::string_view PlanKey::*name) {
  const std::string_view called = key.*name;
  visit_member(key, [&]<class T>(T Plan::*member) {
    T& to = plan.*member;
    if constexpr (std::is_same_v<T, std::optional<int>> || std::is_same_v<T, std::optional<double>>) {
      to = parse_number<typename T::value_type>(key, value, called);
    } else if constexpr (std::is_same_v<T, bool>) {
      if (value != "0" && value != "1")
        throw Error(refused("speculative"), "{}: expected 0 or 1, found '{}'", called, value);
      to = value == "1";
    } else if constexpr (std::is_same_v<T, PolicyChoice>) {
      to = read_policy(value, called);
    } else if constexpr (std::is_same_v<T, std::map<std::string, std::string>>) {
      to = read_drafter_settings(value, called);
    } else if constexpr (std::is_same_v<T, std::string>) {
      to = value;
    } else {
      to = parse_word<T>(called, value);
    }
  });
}

void check_plan(const Plan& plan, std::string_view PlanKey::*name) {
  for (const PlanKey& key : kKeys) {
    visit_member(key, [&]<class T>(T Plan::*member) {
      if constexpr (std::is_same_v<T, std::optional<int>> || std::is_same_v<T, std::optional<double>>) {
        check_number(plan.*member, key, key.*name);
      }
    });
  }
  if (plan.policy.name.empty() && !plan.policy.settings.empty()) {
    throw Error(refused("speculative"), "{}: there are settings, but no name", key_of(&Plan::policy).*name);
  }
  check_order(plan, &Plan::draft_min, &Plan::draft_max, name);
  check_order(plan, &Plan::ngram_min, &Plan::ngram_max, name);
}

PolicyChoice policy_of(const Plan& plan) {
  if (!plan.policy.name.empty()) return plan.policy;
  const auto asked = [&](Shape shape) {
    return std::any_of(std::begin(kKeys), std::end(kKeys),
                       [&](const PlanKey& key) { return key.shape == shape && is_given(plan, key); });
  };
  if (asked(Shape::Fixed)) return {"static", {}};
  if (asked(Shape::Tree) && plan.tree_topk != 1) return {"eagle2", {}};
  if (asked(Shape::Tree) || asked(Shape::Chain)) return {"chain", {}};
  return {"auto", {}};
}

}  // namespace augur
