#include <limits>
#include <memory>
#include <span>

#include "c_api/own_code.h"
#include "c_api/structs.h"

namespace augur::c_api {
namespace {

augur_drafted_tree tree_given(const DraftedTree& from) {
  return {.size = sizeof(augur_drafted_tree),
          .node_count = from.tokens.size(),
          .tokens = from.tokens.data(),
          .parents = from.parents.data(),
          .depths = from.depths.data(),
          .log_probs = from.log_probs.data(),
          .scores = from.scores.data(),
          .proposers = from.proposers.data(),
          .entropies = from.entropies.empty() ? nullptr : from.entropies.data(),
          .drawn = from.drawn};
}

double verify_ms(const void* costs, double rows) {
  return static_cast<const RoundCosts*>(costs)->verify_ms(rows);
}
double draft_ms(const void* costs, int32_t level, int32_t rows) {
  return static_cast<const RoundCosts*>(costs)->draft_ms(level, rows);
}

/// The functions of a type, and the policy that they have made.
class OwnPolicy final : public CustomPolicy {
 public:
  OwnPolicy(const augur_policy_type& type, const std::string& name, const PolicySetup& setup)
      : type_(type), whose_("policy @" + name + ": ") {
    const augur_drafter_traits traits = traits_given(setup.traits);
    const FlatSettings settings(setup.settings);
    const augur_policy_setup given = {.size = sizeof(augur_policy_setup),
                                      .drafter = setup.drafter.c_str(),
                                      .traits = &traits,
                                      .setting_keys = settings.keys.data(),
                                      .setting_values = settings.values.data(),
                                      .setting_count = settings.keys.size()};
    forget_failure();
    own_ = type_.make(&given, type_.user);
    if (own_ == nullptr) throw_failed(whose_, "make");
  }
  ~OwnPolicy() override { destroy(type_, own_); }
  OwnPolicy(const OwnPolicy&) = delete;
  OwnPolicy& operator=(const OwnPolicy&) = delete;

  bool wants_entropies() const override { return type_.wants_entropies != 0; }
  bool branches() const override { return type_.branches != 0; }

  void begin(const PolicyRound& round) override {
    if (type_.begin == nullptr) return;
    traits_ = traits_given(round.drafter);
    costs_ = {.size = sizeof(augur_round_costs),
              .costs = round.costs,
              .verify_ms = verify_ms,
              .draft_ms = draft_ms,
              .other_ms = round.costs->other_ms()};
    const augur_policy_round given = {.size = sizeof(augur_policy_round),
                                      .context = round.context,
                                      .room = round.room,
                                      .max_depth = round.max_depth,
                                      .levels = round.levels,
                                      .drafter = &traits_,
                                      .behind = round.behind,
                                      .tpot_ms = round.tpot_ms,
                                      .late_ms = round.late_ms,
                                      .costs = &costs_};
    require_success(whose_, "begin", [&] { return type_.begin(own_, &given, type_.user); });
  }
  int grow(const DraftedTree& tree, std::vector<std::int32_t>& nodes) override {
    const augur_drafted_tree given = tree_given(tree);
    nodes.resize(tree.tokens.size());
    augur_node_list list = list_of(nodes, 0);
    forget_failure();
    const std::int32_t children = type_.grow(own_, &given, &list, type_.user);
    if (children < 0) throw_failed(whose_, "grow");
    take(list, nodes);
    return children;
  }
  void keep(const DraftedTree& tree, std::vector<std::int32_t>& nodes) override {
    if (type_.keep == nullptr) return;
    const augur_drafted_tree given = tree_given(tree);
    augur_node_list list = list_of(nodes, nodes.size());
    require_success(whose_, "keep", [&] { return type_.keep(own_, &given, &list, type_.user); });
    take(list, nodes);
  }
  void observe(const VerifiedRound& round) override {
    if (type_.observe == nullptr) return;
    const augur_drafted_tree tree = tree_given(round.tree);
    const augur_verified_round given = {.size = sizeof(augur_verified_round),
                                        .tree = &tree,
                                        .accepted = round.accepted.data(),
                                        .accepted_count = round.accepted.size(),
                                        .next = round.next,
                                        .drafted = round.drafted,
                                        .batch_rows = round.batch_rows,
                                        .draft_ms = round.draft_ms,
                                        .verify_ms = round.verify_ms,
                                        .other_ms = round.other_ms};
    require_success(whose_, "observe", [&] { return type_.observe(own_, &given, type_.user); });
  }
  void abandoned() override {
    if (type_.abandoned != nullptr)
      require_success(whose_, "abandoned", [&] { return type_.abandoned(own_, type_.user); });
  }

 private:
  static augur_node_list list_of(std::vector<std::int32_t>& nodes, std::size_t count) {
    return {.size = sizeof(augur_node_list), .capacity = nodes.size(), .nodes = nodes.data(), .count = count};
  }
  void take(const augur_node_list& list, std::vector<std::int32_t>& nodes) const {
    if (list.count > nodes.size())
      throw Error(ErrorKind::Misuse, "{}a list of {} nodes: expected at most {}", whose_, list.count,
                  nodes.size());
    nodes.resize(list.count);
  }

  const augur_policy_type type_;
  const std::string whose_;  ///< in errors
  void* own_ = nullptr;
  // Of the round.
  augur_drafter_traits traits_{};
  augur_round_costs costs_{};
};

int bound_of(const char* field, std::int64_t value) {
  if (value < 0 || value > std::numeric_limits<int>::max())
    throw Error(refused("custom_policies"), "augur_policy_type: {} is {}: expected 0 to {}", field, value,
                std::numeric_limits<int>::max());
  return static_cast<int>(value);
}

}  // namespace

CustomPolicyType policy_type_of(const augur_policy_type* given) {
  const augur_policy_type type = complete(given, augur_policy_type_default(), "augur_policy_type");
  if (type.make == nullptr || type.grow == nullptr)
    throw Error(ErrorKind::Misuse, "augur_policy_type: make or grow is NULL");
  CustomPolicyType to;
  to.name = text_or_empty(type.name);
  to.make = [type, name = to.name](const PolicySetup& setup) {
    return std::make_unique<OwnPolicy>(type, name, setup);
  };
  to.most_nodes = bound_of("most_nodes", type.most_nodes);
  to.most_expanded = bound_of("most_expanded", type.most_expanded);
  to.needs_costs = type.needs_costs != 0;
  if (type.forget != nullptr) to.forget = [type] { type.forget(type.user); };
  return to;
}

}  // namespace augur::c_api

using namespace augur::c_api;

void augur_policy_type_init(augur_policy_type* type, size_t size) {
  const augur::CustomPolicyType defaults;
  augur_policy_type out{};
  out.branches = 1;
  out.most_nodes = defaults.most_nodes;
  out.most_expanded = defaults.most_expanded;
  write_defaults(out, type, size);
}
