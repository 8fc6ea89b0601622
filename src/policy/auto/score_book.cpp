#include "policy/auto/score_book.h"

namespace augur {

ScoreBook::ScoreBook(ScoreChoice& choice, std::span<NodeScore* const> scores)
    : choice_(choice), scores_(scores.begin(), scores.end()) {
  constexpr std::size_t kUsual = 512;
  entries_.reserve(kUsual);
  if (empty()) return;
  choice_.prepare(scores_);
  readings_.reserve(kUsual * scores_.size());
}

NodeWants ScoreBook::wants() const {
  NodeWants wants;
  for (const NodeScore* score : scores_) wants = wants | score->wants();
  return wants;
}

void ScoreBook::begin_round() {
  entries_.assign(1, {});
  entries_.front().accepted = true;
  readings_.assign(scores_.size(), {});
}

std::span<NodeScore::Reading> ScoreBook::readings(std::size_t entry) {
  return std::span(readings_).subspan(entry * scores_.size(), scores_.size());
}

double ScoreBook::believed(std::size_t entry) {
  const Entry& e = entries_[entry];
  if (choice_.chosen() == ScoreChoice::kOwn) return e.own;
  const auto chosen = static_cast<std::size_t>(choice_.chosen());
  const NodeScore::Reading& reading = readings(entry)[chosen];
  return reading.known() ? choice_.acceptance(chosen, reading, e.depth) : e.own;
}

double ScoreBook::weigh(const DraftTree& tree, std::int32_t node, double own) {
  const auto n = static_cast<std::size_t>(node);
  entries_.push_back({.parent = tree.parents()[n],
                      .token = tree.tokens()[n],
                      .depth = tree.depths()[n],
                      .log_prob = static_cast<double>(tree.log_probs()[n]),
                      .own = own,
                      .accepted = false});
  for (NodeScore* score : scores_) readings_.push_back(score->read(tree, node));
  return believed(n);
}

double ScoreBook::weigh_again(const DraftTree& tree, std::int32_t node) {
  const auto n = static_cast<std::size_t>(node);
  for (std::size_t i = 0; i < scores_.size(); ++i) readings(n)[i] = scores_[i]->read(tree, node);
  return believed(n);
}

void ScoreBook::learn(const StepTrace& trace, Calibrator& own) {
  if (trace.next < 0) return;
  const auto known = static_cast<int>(trace.path.size());  // depths of which the right token is known
  for (std::size_t n = 1; n < entries_.size(); ++n) {
    Entry& e = entries_[n];
    if (e.depth > known || !entries_[static_cast<std::size_t>(e.parent)].accepted) continue;
    const TokenId right =
        e.depth < known
            ? trace.tree->tokens()[static_cast<std::size_t>(trace.path[static_cast<std::size_t>(e.depth)])]
            : trace.next;
    e.accepted = e.token == right;
    own.observe(e.log_prob, e.depth, e.accepted);
    if (!empty()) choice_.observe(readings(n), e.own, e.depth, e.accepted);
  }
}

}  // namespace augur
