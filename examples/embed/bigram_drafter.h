#pragma once
#include <augur/custom_drafter.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

/// Proposes after a token what followed it before in the same text, the most frequent first.
class BigramDrafter final : public augur::CustomDrafter {
 public:
  void reset() override {
    newest_ = -1;
    followers_.clear();
  }

  void accepted(std::span<const augur::TokenId> tokens, int /*drafted*/) override {
    for (const augur::TokenId token : tokens) {
      if (newest_ >= 0) ++followers_[newest_][token];
      newest_ = token;
    }
  }

  void propose(const augur::DraftRequest& request, std::vector<augur::Proposal>& out) override {
    for (const std::int32_t node : request.frontier) {
      const auto found = followers_.find(request.tokens[static_cast<std::size_t>(node)]);
      if (found == followers_.end()) continue;
      std::vector<std::pair<int, augur::TokenId>> best;
      int total = 1;  // as if something else had followed once, too: seen once is not certain
      for (const auto& [token, times] : found->second) {
        best.emplace_back(-times, token);
        total += times;
      }
      std::sort(best.begin(), best.end());
      best.resize(std::min(best.size(), static_cast<std::size_t>(request.most_children)));
      for (const auto& [times, token] : best) {
        if (static_cast<int>(out.size()) == request.most_nodes) return;
        const float probability = static_cast<float>(-times) / static_cast<float>(total);
        out.push_back({.parent = node, .token = token, .log_prob = std::log(probability)});
      }
    }
  }

 private:
  augur::TokenId newest_ = -1;
  std::map<augur::TokenId, std::map<augur::TokenId, int>> followers_;  ///< times, by token and the next one
};
