#include "verify/verifier.h"

#include <algorithm>
#include <cassert>

namespace augur {
namespace {

/// Where mass cancels to less than this, rounding has rejected what should have been accepted.
constexpr double kNoMass = 1e-12;

void begin(Verdict& out) {
  out.path.assign(1, DraftTree::kRoot);
  out.next = -1;
}

TokenId token_of(const DraftTree& tree, std::int32_t node) {
  return tree.tokens()[static_cast<std::size_t>(node)];
}

double sum_of(std::span<const double> values) {
  double total = 0.0;
  for (const double v : values) total += v;
  return total;
}

/// Place of a token in a distribution, or -1.
std::ptrdiff_t find(const SparseDistribution& law, TokenId token) {
  const auto at = std::lower_bound(law.tokens.begin(), law.tokens.end(), token);
  return at != law.tokens.end() && *at == token ? at - law.tokens.begin() : -1;
}

/// Tries the children of `node` in order; `p` is the target's law over its own tokens, and afterwards what
/// the rejected children left of it. The accepted child, or -1.
std::int32_t try_children(const DraftTree& tree, std::int32_t node, const SparseDistribution& law,
                          Chance& chance, std::vector<double>& p) {
  double mass = sum_of(p);
  for (std::int32_t child = tree.first_child(node); child >= 0; child = tree.next_sibling(child)) {
    const std::ptrdiff_t at = find(law, token_of(tree, child));
    if (at < 0) continue;
    double& px = p[static_cast<std::size_t>(at)];
    if (mass - px <= kNoMass || chance.happens(px / mass)) return child;
    mass -= px;
    px = 0.0;
  }
  return -1;
}

/// The same for children drawn from `scratch.q`; `scratch.p` is over the vocabulary.
std::int32_t try_drawn_children(const DraftTree& tree, std::int32_t node, Chance& chance,
                                RejectionScratch& scratch) {
  std::vector<double>& p = scratch.p;
  std::vector<double>& q = scratch.q;
  for (std::int32_t child = tree.first_child(node); child >= 0; child = tree.next_sibling(child)) {
    const auto x = static_cast<std::size_t>(token_of(tree, child));
    const double p_mass = sum_of(p);
    const double q_mass = sum_of(q);
    assert(q[x] > 0.0 && "a drawn token has probability");
    if (chance.happens(std::min(1.0, (p[x] / p_mass) / (q[x] / q_mass)))) return child;
    const auto residual = [&](std::size_t i) { return std::max(0.0, p[i] / p_mass - q[i] / q_mass); };
    double left = 0.0;
    for (std::size_t i = 0; i < p.size(); ++i) left += residual(i);
    if (left <= kNoMass) return child;  // p equals q: it is accepted with certainty
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = residual(i);
    q[x] = 0.0;
  }
  return -1;
}

}  // namespace

void verify_walk(const DraftTree& tree, TargetView& target, Verdict& out) {
  begin(out);
  for (std::int32_t node = DraftTree::kRoot;;) {
    out.next = target.draw(node);
    node = tree.find_child(node, out.next);
    if (node < 0 || !target.can_enter(node)) return;
    out.path.push_back(node);
  }
}

void verify_sequential(const DraftTree& tree, TargetView& target, Chance& chance, RejectionScratch& scratch,
                       Verdict& out) {
  begin(out);
  for (std::int32_t node = DraftTree::kRoot;;) {
    const SparseDistribution& law = target.distribution(node);
    scratch.p.assign(law.probs.begin(), law.probs.end());
    const std::int32_t child = try_children(tree, node, law, chance, scratch.p);
    if (child < 0) {
      out.next = law.tokens[static_cast<std::size_t>(chance.pick(scratch.p))];
      return;
    }
    if (!target.can_enter(child)) {
      out.next = token_of(tree, child);
      return;
    }
    out.path.push_back(node = child);
  }
}

void verify_rejection(const DraftTree& tree, TargetView& target, Chance& chance, RejectionScratch& scratch,
                      Verdict& out) {
  assert(tree.law() == ProposalLaw::Sampled);
  begin(out);
  for (std::int32_t node = DraftTree::kRoot;;) {
    const SparseDistribution& law = target.distribution(node);
    const std::span<const float> q = tree.q(node);
    if (tree.first_child(node) < 0) {
      scratch.p.assign(law.probs.begin(), law.probs.end());
      out.next = law.tokens[static_cast<std::size_t>(chance.pick(scratch.p))];
      return;
    }
    scratch.q.assign(q.begin(), q.end());
    scratch.p.assign(q.size(), 0.0);
    for (std::size_t i = 0; i < law.tokens.size(); ++i) {
      assert(static_cast<std::size_t>(law.tokens[i]) < scratch.p.size());
      scratch.p[static_cast<std::size_t>(law.tokens[i])] = law.probs[i];
    }
    const std::int32_t child = try_drawn_children(tree, node, chance, scratch);
    if (child < 0) {
      out.next = chance.pick(scratch.p);
      return;
    }
    if (!target.can_enter(child)) {
      out.next = token_of(tree, child);
      return;
    }
    out.path.push_back(node = child);
  }
}

}  // namespace augur
