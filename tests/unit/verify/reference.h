#pragma once
#include <algorithm>
#include <map>
#include <vector>

#include "verify/verifier.h"

namespace augur::reference {

// The three verifications as their papers state them, over maps and with copies, for comparison with the
// real ones. They ask their Chance the same questions in the same order.

using Law = std::map<TokenId, double>;

inline Law law_at(TargetView& target, std::int32_t node) {
  const SparseDistribution& d = target.distribution(node);
  Law law;
  for (std::size_t i = 0; i < d.tokens.size(); ++i) law[d.tokens[i]] = d.probs[i];
  return law;
}

inline Law normalised(Law law) {
  double total = 0;
  for (const auto& [token, p] : law) total += p;
  for (auto& [token, p] : law) p /= total;
  return law;
}

inline TokenId draw(const Law& law, Chance& chance) {
  std::vector<TokenId> tokens;
  std::vector<double> weights;
  for (const auto& [token, p] : law) {
    tokens.push_back(token);
    weights.push_back(p);
  }
  return tokens[static_cast<std::size_t>(chance.pick(weights))];
}

inline std::vector<std::int32_t> children_of(const DraftTree& tree, std::int32_t node) {
  std::vector<std::int32_t> children;
  for (std::int32_t n = 1; n < tree.size(); ++n) {
    if (tree.parents()[static_cast<std::size_t>(n)] == node) children.push_back(n);
  }
  return children;
}

inline TokenId token_of(const DraftTree& tree, std::int32_t node) {
  return tree.tokens()[static_cast<std::size_t>(node)];
}

inline Verdict walk(const DraftTree& tree, TargetView& target) {
  Verdict verdict{.path = {0}};
  for (bool descended = true; descended;) {
    descended = false;
    const std::int32_t node = verdict.path.back();
    verdict.next = target.draw(node);
    for (const std::int32_t child : children_of(tree, node)) {
      if (token_of(tree, child) != verdict.next) continue;
      verdict.path.push_back(child);
      descended = true;
    }
  }
  return verdict;
}

/// "Accept x with probability p[x]; on a rejection set p[x] to 0 and renormalise."
inline Verdict sequential(const DraftTree& tree, TargetView& target, Chance& chance) {
  Verdict verdict{.path = {0}};
  for (bool descended = true; descended;) {
    descended = false;
    Law p = law_at(target, verdict.path.back());
    for (const std::int32_t child : children_of(tree, verdict.path.back())) {
      p = normalised(p);
      const TokenId x = token_of(tree, child);
      if (!p.contains(x)) continue;
      if (p.size() == 1 || chance.happens(p[x])) {
        verdict.path.push_back(child);
        descended = true;
        break;
      }
      p.erase(x);
    }
    if (!descended) verdict.next = draw(p, chance);
  }
  return verdict;
}

/// "Accept x with probability min(1, p[x] / q[x]); on a rejection go on with norm(max(0, p - q)), and q
/// without x, renormalised."
inline Verdict rejection(const DraftTree& tree, TargetView& target, Chance& chance) {
  Verdict verdict{.path = {0}};
  for (bool descended = true; descended;) {
    descended = false;
    const std::int32_t node = verdict.path.back();
    Law p = law_at(target, node);
    Law q;
    for (std::size_t i = 0; i < tree.q(node).size(); ++i) q[static_cast<TokenId>(i)] = tree.q(node)[i];
    for (const std::int32_t child : children_of(tree, node)) {
      p = normalised(p);
      q = normalised(q);
      const TokenId x = token_of(tree, child);
      if (chance.happens(std::min(1.0, p[x] / q[x]))) {
        verdict.path.push_back(child);
        descended = true;
        break;
      }
      for (const auto& [token, mass] : q) p[token] = std::max(0.0, p[token] - mass);
      q[x] = 0;
    }
    if (!descended) verdict.next = draw(p, chance);
  }
  return verdict;
}

}  // namespace augur::reference
