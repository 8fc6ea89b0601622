#include "policy/host_policy.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/index.h"
#include "base/own_environment.h"
#include "cost/cost.h"

namespace augur {
namespace {

/// Candidates of a tree, which nobody needs more of.
constexpr std::int64_t kMostCandidates = std::int64_t{1} << 20;

/// What a policy may not answer, said by its name.
template <class... Args>
[[noreturn]] void misuse(const std::string& name, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::Misuse, "policy {}: {}", name, fmt::format(format, std::forward<Args>(args)...));
}

DraftedTree view(const DraftTree& tree) {
  return {.tokens = tree.tokens(),
          .parents = tree.parents(),
          .depths = tree.depths(),
          .log_probs = tree.log_probs(),
          .scores = tree.scores(),
          .proposers = tree.proposers(),
          .entropies = tree.entropies(),
          .drawn = tree.law() == ProposalLaw::Sampled};
}

class Prices final : public RoundCosts {
 public:
  void begin(const RoundInfo& round) {
    costs_ = round.costs;
    drafter_ = round.draft_costs;
    context_ = static_cast<double>(round.context);
  }
  double verify_ms(double rows) const override { return costs_->verify_ms(rows, context_); }
  double draft_ms(int level, int rows) const override {
    return level == 0 ? drafter_->catch_up_ms(rows) : drafter_->level_ms(level, rows);
  }
  double other_ms() const override { return costs_->other_ms(); }

 private:
  const CostModel* costs_ = nullptr;
  const DraftCosts* drafter_ = nullptr;
  double context_ = 0;
};

/// Bounds of a CustomPolicyType, and the name in errors.
struct Bounds {
  std::string name;
  int most_nodes = 0;
  int most_expanded = 0;
};

class HostPolicy final : public TreePolicy {
 public:
  HostPolicy(const Bounds& bounds, std::unique_ptr<CustomPolicy> custom)
      : bounds_(bounds), custom_(std::move(custom)) {
    const HostEnvironment host;
    wants_.entropy = custom_->wants_entropies();
    branches_ = custom_->branches();
  }
  ~HostPolicy() override {
    const HostEnvironment host;
    custom_.reset();
  }
  HostPolicy(const HostPolicy&) = delete;
  HostPolicy& operator=(const HostPolicy&) = delete;

  NodeWants wants() const override { return wants_; }
  int width() const override { return width_; }
  bool branches() const override { return branches_; }

  void begin(const RoundInfo& round) override {
    expanded_.clear();
    expansions_ = 0;
    prices_.begin(round);
    const PolicyRound told{.context = round.context,
                           .room = round.room,
                           .max_depth = round.max_depth,
                           .levels = round.most_levels(),
                           .drafter = round.drafter,
                           .behind = round.behind,
                           .tpot_ms = round.tpot_ms,
                           .late_ms = round.late_ms,
                           .costs = &prices_};
    const HostEnvironment host;
    custom_->begin(told);
  }
  void next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) override;
  void prune(DraftTree& tree) override;
  void observe(const StepTrace& trace) override {
    VerifiedRound round;
    static_cast<RoundFigures&>(round) = trace;
    round.tree = view(*trace.tree);
    round.accepted = trace.path;
    const HostEnvironment host;
    custom_->observe(round);
  }
  void abandoned() override {
    const HostEnvironment host;
    custom_->abandoned();
  }

 private:
  const Bounds& bounds_;
  std::unique_ptr<CustomPolicy> custom_;
  NodeWants wants_;
  bool branches_ = true;
  Prices prices_;
  int width_ = 1;
  std::vector<bool> expanded_;  ///< by node, in this round
  int expansions_ = 0;
  std::vector<std::int32_t> kept_;
};

void HostPolicy::next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) {
  out.clear();
  {
    const HostEnvironment host;
    width_ = custom_->grow(view(tree), out);
  }
  if (out.empty()) return;
  if (width_ < 1) misuse(bounds_.name, "{} children for each node: expected at least 1", width_);
  if (expansions_ == 0 && (out.size() != 1 || out.front() != DraftTree::kRoot))
    misuse(bounds_.name, "the first node to grow is the root, 0, alone");
  expansions_ += static_cast<int>(out.size());
  if (expansions_ > bounds_.most_expanded)
    misuse(bounds_.name, "{} nodes are to grow in a round: expected at most most_expanded, {}", expansions_,
           bounds_.most_expanded);
  if (width_ * std::ssize(out) > kMostCandidates)
    misuse(bounds_.name, "{} children for each of {} nodes: expected at most {} in all", width_, out.size(),
           kMostCandidates);
  expanded_.resize(at(tree.size()));
  for (const std::int32_t node : out) {
    if (node < 0 || node >= tree.size())
      misuse(bounds_.name, "node {} is to grow in a tree of {}", node, tree.size());
    if (expanded_[at(node)]) misuse(bounds_.name, "node {} is to grow twice in a round", node);
    expanded_[at(node)] = true;
  }
}

void HostPolicy::prune(DraftTree& tree) {
  kept_.resize(at(tree.size()));
  std::iota(kept_.begin(), kept_.end(), 0);
  {
    const HostEnvironment host;
    custom_->keep(view(tree), kept_);
  }
  std::sort(kept_.begin(), kept_.end());
  kept_.erase(std::unique(kept_.begin(), kept_.end()), kept_.end());
  if (kept_.empty() || kept_.front() != DraftTree::kRoot || kept_.back() >= tree.size())
    misuse(bounds_.name, "the nodes to keep are the root, 0, and others below {}", tree.size());
  if (std::ssize(kept_) - 1 > bounds_.most_nodes)
    misuse(bounds_.name, "{} nodes are to be kept besides the root: expected at most most_nodes, {}",
           kept_.size() - 1, bounds_.most_nodes);
  for (const std::int32_t node : kept_) {
    const std::int32_t parent = tree.parents()[at(node)];
    if (node != DraftTree::kRoot && !std::binary_search(kept_.begin(), kept_.end(), parent))
      misuse(bounds_.name, "node {} is to be kept without its parent, {}", node, parent);
  }
  if (std::ssize(kept_) < tree.size()) tree.select(kept_);
}

class HostPolicyModel final : public PolicyModel {
 public:
  HostPolicyModel(const CustomPolicyType& type, std::map<std::string, std::string> settings)
      : type_(type),
        settings_(std::move(settings)),
        bounds_{"@" + type.name, type.most_nodes, type.most_expanded} {}
  ~HostPolicyModel() override {
    const HostEnvironment host;
    type_ = {};
  }
  HostPolicyModel(const HostPolicyModel&) = delete;
  HostPolicyModel& operator=(const HostPolicyModel&) = delete;

  std::unique_ptr<TreePolicy> make(const DrafterIdentity& drafter) override {
    std::unique_ptr<CustomPolicy> custom;
    {
      const HostEnvironment host;
      custom = type_.make({.drafter = drafter.name, .traits = drafter.traits, .settings = settings_});
    }
    if (custom == nullptr) misuse(bounds_.name, "none was made for drafter {}", drafter.name);
    return std::make_unique<HostPolicy>(bounds_, std::move(custom));
  }
  int merged_nodes() const override { return bounds_.most_nodes; }
  TreeBounds bounds() const override {
    return {.nodes = {bounds_.most_nodes, "most_nodes"},
            .expanded = {bounds_.most_expanded, "most_expanded"}};
  }
  bool needs_costs() const override { return type_.needs_costs; }
  void forget_learnt() override {
    const HostEnvironment host;
    if (type_.forget) type_.forget();
  }

 private:
  CustomPolicyType type_;
  std::map<std::string, std::string> settings_;
  Bounds bounds_;
};

}  // namespace

std::unique_ptr<PolicyModel> make_host_policy(const CustomPolicyType& type,
                                              std::map<std::string, std::string> settings) {
  return std::make_unique<HostPolicyModel>(type, std::move(settings));
}

}  // namespace augur
