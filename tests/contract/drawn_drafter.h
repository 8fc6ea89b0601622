#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "base/index.h"
#include "draft/drafter.h"
#include "support/hand_clock.h"
#include "unit/policy/policy_fixture.h"

namespace augur::testing_support {

/// A candidate that is to be another one: the draw of that rank below a path, whose first entry is the root's
/// position.
struct Redraw {
  Path parent;
  int rank = 0;

  friend bool operator==(const Redraw&, const Redraw&) = default;
};

/// A drafter of any traits, without a model: what it proposes is a function of the path, it adds as much as
/// it is asked for, and draws where it is to draw.
class DrawnDrafter final : public Drafter {
 public:
  static constexpr std::int32_t kVocab = 16;

  /// A draw, and whether the candidates leave another one.
  struct Draw {
    Redraw place;
    bool has_others = false;
  };

  /// `clock` passes while it drafts; `hidden`: the width of its states.
  DrawnDrafter(std::string_view name, const DrafterTraits& traits, HandClock& clock, std::size_t hidden)
      : name_(name), traits_(traits), clock_(clock), law_{.seed = 3, .children = 12, .width = hidden} {}

  std::optional<Redraw> redraw;  ///< so far as it comes to it

  void begin_round() {
    draws_.clear();
    drafted_.truncate(1);
    expanded_ = 0;
  }
  /// Of this round.
  const std::vector<Draw>& draws() const { return draws_; }
  const DraftTree& drafted() const { return drafted_; }  ///< before anything is pruned; a draw a node
  std::int32_t expanded() const { return expanded_; }    ///< nodes that were to get children

  std::string_view name() const override { return name_; }
  DrafterTraits traits() const override { return traits_; }
  void reset() override {}
  void sync(const AcceptedRows&) override {}
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier,
              const ExpandOptions& options) override {
    clock_.pass(1e-3);
    expanded_ += static_cast<std::int32_t>(frontier.size());
    if (traits_.one_shot) return add_branches(tree, options);
    for (const std::int32_t node : frontier) add_children(tree, node, options);
    drafted_ = tree;
  }

 private:
  static Path place_of(const DraftTree& tree, std::int32_t node) {
    Path path = path_of(tree, node);
    path.insert(path.begin(), static_cast<TokenId>(tree.root_position()));
    return path;
  }

  /// As broad as it may be, or one branch.
  void add_branches(DraftTree& tree, const ExpandOptions& options) const {
    const bool branches = traits_.branching && options.branching;
    for (std::int32_t i = 0; i < std::min(options.top_k, options.max_nodes); ++i) {
      tree.add(branches ? i / 2 : i, i % 12, -0.1f * static_cast<float>(1 + i % 2), options.proposer);
    }
  }

  void add_children(DraftTree& tree, std::int32_t node, const ExpandOptions& options) {
    const Path place = place_of(tree, node);
    const RandomLaw::After after = law_.after(place);
    if (options.wants.entropy && traits_.has_probabilities) tree.set_entropy(node, after.entropy);
    if (options.wants.top_k > 0 && traits_.has_probabilities) tree.set_top_entropy(node, after.entropy);
    if (options.wants.hidden) std::ranges::copy(after.hidden, tree.make_hidden(node, law_.width).begin());
    const int count = std::min(options.top_k, law_.children);
    if (options.sample && traits_.has_probabilities)
      return draw_children(tree, node, place, after, count, options);
    for (int i = 0; i < count; ++i) {
      tree.add(node, after.children[at(i)].first, after.children[at(i)].second, options.proposer);
    }
  }

  void draw_children(DraftTree& tree, std::int32_t node, const Path& place, const RandomLaw::After& after,
                     int count, const ExpandOptions& options) {
    double sum = 0;
    for (const auto& [token, log_prob] : after.children) sum += std::exp(log_prob);
    const std::span<float> q = tree.make_q(node);
    std::fill(q.begin(), q.end(), 0.0f);
    for (const auto& [token, log_prob] : after.children) {
      q[at(token)] = static_cast<float>(std::exp(log_prob) / sum);
    }
    std::vector<TokenId> left;
    for (const auto& child : after.children) left.push_back(child.first);
    std::seed_seq seed(place.begin(), place.end());
    std::mt19937 random(seed);
    for (int rank = 0; rank < count; ++rank) {
      const Draw draw{{place, rank}, left.size() > 1};
      std::size_t drawn = draw_one(left, q, random);
      if (redraw == draw.place) drawn = (drawn + 1) % left.size();
      tree.add(node, left[drawn], std::log(q[at(left[drawn])]), options.proposer);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(drawn));
      draws_.push_back(draw);
    }
  }

  static std::size_t draw_one(const std::vector<TokenId>& left, std::span<const float> q,
                              std::mt19937& random) {
    std::vector<double> weights;
    for (const TokenId token : left) weights.push_back(static_cast<double>(q[at(token)]));
    return std::discrete_distribution<std::size_t>(weights.begin(), weights.end())(random);
  }

  std::string_view name_;
  DrafterTraits traits_;
  HandClock& clock_;
  RandomLaw law_;
  std::vector<Draw> draws_;
  DraftTree drafted_;
  std::int32_t expanded_ = 0;
};

}  // namespace augur::testing_support
