#include "model/state_walk.h"

#include <algorithm>

#include "base/index.h"

namespace augur {

/// Children in their order, of those that are needed; index 0 stands for the committed text, i + 1 for row i.
void StateWalk::find_children() {
  needed_.assign(rows.size(), 0);
  for (std::size_t i = rows.size(); i-- > 0;) {
    if (rows[i].step.kind == StateStep::Run) needed_[i] = 1;
    if (needed_[i] != 0 && rows[i].parent >= 0) needed_[at(rows[i].parent)] = 1;
  }
  for (auto* links : {&first_, &next_, &last_}) links->assign(rows.size() + 1, -1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (needed_[i] == 0) continue;
    const auto row = static_cast<std::int32_t>(i);
    const std::size_t parent = at(rows[i].parent + 1);
    (last_[parent] < 0 ? first_[parent] : next_[at(last_[parent] + 1)]) = row;
    last_[parent] = row;
  }
}

int StateWalk::walk(std::vector<StateStep>& steps) {
  find_children();
  pending_.clear();
  std::size_t most = 0;
  std::int32_t row = first_[0];
  // Goes down to the first child; the others of a branching wait, and find the state put aside.
  const auto branch = [&](std::int32_t first) {
    if (first < 0 || next_[at(first + 1)] < 0) return;
    steps.push_back({StateStep::PutAside, static_cast<std::int64_t>(pending_.size())});
    pending_.push_back(next_[at(first + 1)]);
    most = std::max(most, pending_.size());
  };
  branch(row);
  while (true) {
    for (; row >= 0; row = first_[at(row + 1)]) {
      steps.push_back(rows[at(row)].step);
      if (rows[at(row)].folds) steps.push_back({.kind = StateStep::Fold});
      branch(first_[at(row + 1)]);
    }
    if (pending_.empty()) return static_cast<int>(most);
    row = pending_.back();
    steps.push_back({StateStep::Recall, static_cast<std::int64_t>(pending_.size()) - 1});
    if (const std::int32_t further = next_[at(row + 1)]; further >= 0) {
      pending_.back() = further;
    } else {
      pending_.pop_back();
    }
  }
}

}  // namespace augur
