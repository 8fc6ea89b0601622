#include "policy/hetero_policy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "policy/registry.h"

namespace augur {

namespace {

/// Phi(P*) of a tree whose last frontier is `frontier`; NaN when the drafter keeps no law.
double meta_path_entropy(const DraftTree& tree, std::span<const std::int32_t> frontier) {
  std::int32_t last = -1;
  float surest = -std::numeric_limits<float>::infinity();
  for (const std::int32_t node : frontier) {
    const std::int32_t child = tree.first_child(node);
    if (child < 0 || tree.log_probs()[static_cast<std::size_t>(child)] <= surest) continue;
    surest = tree.log_probs()[static_cast<std::size_t>(child)];
    last = node;
  }
  if (last < 0) return std::numeric_limits<double>::quiet_NaN();
  double phi = 0;
  for (; last >= 0; last = tree.parents()[static_cast<std::size_t>(last)]) {
    phi += static_cast<double>(tree.top_entropies()[static_cast<std::size_t>(last)]);
  }
  return phi;
}

}  // namespace

HeteroPolicy::HeteroPolicy(std::shared_ptr<const HeteroBins> bins, const Options& options)
    : bins_(std::move(bins)),
      options_(options),
      eagle2_(options.shape),
      shapes_(make_shapes(*bins_, options)) {
  frontier_.reserve(static_cast<std::size_t>(options.shape.top_k));
}

std::vector<HeteroPolicy::BinShape> HeteroPolicy::make_shapes(const HeteroBins& bins,
                                                              const Options& options) {
  const int base = options.shape.levels;
  const int alpha = options.alpha > 0 ? options.alpha : bins.sure > 0 ? bins.sure : (base + 1) / 2;
  std::vector<BinShape> shapes(static_cast<std::size_t>(bins.count()), {base, options.shape.size});
  for (std::size_t i = 0; i < std::min(shapes.size(), options.gamma.size()); ++i) {
    const int more = std::max(0, alpha - static_cast<int>(i));
    if (options.extend) shapes[i].levels += more;
    if (options.prune) {
      shapes[i].size =
          std::max(2, static_cast<int>(std::lround(options.gamma[i] * options.shape.size)) + more);
    }
  }
  return shapes;
}

void HeteroPolicy::begin(const RoundInfo& round) {
  eagle2_.begin(round);
  level_ = 0;
  classified_ = false;
  clock_ = round.clock;
  classify_ms_ = 0;
}

void HeteroPolicy::classify(const DraftTree& tree) {
  const double phi = meta_path_entropy(tree, frontier_);
  if (std::isnan(phi)) return;
  classified_ = true;
  if (!options_.keep_shapes) shapes_ = make_shapes(*bins_, options_);
  const BinShape& shape = shapes_[static_cast<std::size_t>(bins_->bin(phi))];
  eagle2_.adjust(shape.levels, shape.size);
}

void HeteroPolicy::next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) {
  if (level_ == options_.shape.levels && !classified_ && tree.law() == ProposalLaw::Deterministic) {
    const Stopwatch watch(*clock_);
    classify(tree);
    classify_ms_ += watch.ms();
  }
  eagle2_.next_frontier(tree, out);
  if (out.empty()) return;
  ++level_;
  frontier_.assign(out.begin(), out.end());
}

namespace {

class HeteroModel final : public PolicyModel {
 public:
  HeteroModel(std::shared_ptr<const HeteroBins> bins, const HeteroPolicy::Options& options,
              const ChainPolicy::Options& chain, std::string warning)
      : bins_(std::move(bins)), options_(options), chain_(chain), warning_(std::move(warning)) {}

  /// Look-ups have no entropies: they draft as they do beside EAGLE-2.
  std::unique_ptr<TreePolicy> make(const DrafterIdentity& drafter) override {
    if (!drafter.traits.one_shot) return std::make_unique<HeteroPolicy>(bins_, options_);
    return tree_or_chain(drafter.traits, options_.shape, chain_);
  }
  int merged_nodes() const override { return most().size - 1; }
  TreeBounds bounds() const override { return larger(bounds_of(most()), bounds_of(chain_)); }
  std::string warning() const override { return warning_; }

 private:
  /// The largest shape in both directions.
  Eagle2Policy::Options most() const {
    Eagle2Policy::Options most{.top_k = options_.shape.top_k, .levels = 0, .size = 0};
    for (const auto& shape : HeteroPolicy::make_shapes(*bins_, options_)) {
      most.levels = std::max(most.levels, shape.levels);
      most.size = std::max(most.size, shape.size);
    }
    return most;
  }

  std::shared_ptr<const HeteroBins> bins_;
  HeteroPolicy::Options options_;
  ChainPolicy::Options chain_;
  std::string warning_;
};

}  // namespace

std::unique_ptr<PolicyModel> load_hetero_policy(const PolicySource& source) {
  constexpr int kMost = 1 << 12;
  PolicyArguments& a = source.arguments;
  std::string warning;
  auto bins =
      std::make_shared<const HeteroBins>(HeteroBins::read(source.part(), source.fingerprint(), &warning));
  HeteroPolicy::Options options;
  options.shape.top_k = a.limit(&SpeculationPlan::tree_topk);
  options.shape.size = a.limit(&SpeculationPlan::tree_size);
  options.shape.levels = a.limit(&SpeculationPlan::tree_depth, {}, bins->depth);
  if (options.shape.levels != bins->depth) {
    throw Error("policy hetero: depth: is {}, the bins were made for {}", options.shape.levels, bins->depth);
  }
  options.alpha =
      a.text("alpha") == "half" ? (options.shape.levels + 1) / 2 : a.integer("alpha", 0, 0, kMost);
  options.extend = a.flag("ded", true);
  options.prune = a.flag("tnp", true);
  options.keep_shapes = a.flag("dca", true);
  for (std::size_t i = 0; i < options.gamma.size(); ++i) {
    options.gamma[i] = a.number("gamma" + std::to_string(i + 1), options.gamma[i], 0.0, 1.0);
  }
  return std::make_unique<HeteroModel>(std::move(bins), options, chain_limits(a), std::move(warning));
}

}  // namespace augur
