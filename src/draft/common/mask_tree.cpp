#include "draft/common/mask_tree.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace augur {

MaskTree::MaskTree(std::unique_ptr<TokenConstraint> constraint, std::int64_t vocab)
    : constraint_(std::move(constraint)), words_(mask_words(vocab)), states_(1) {}

/// Brings the constraint into a state, by way of the last one that both paths share.
void MaskTree::go_to(std::int32_t target) {
  path_.clear();
  int back = 0;
  std::int32_t up = here_;
  std::int32_t down = target;
  while (up != down) {
    if (state(up).depth >= state(down).depth) {
      up = state(up).parent;
      ++back;
    } else {
      path_.push_back(down);
      down = state(down).parent;
    }
  }
  if (back > 0) constraint_->roll_back(back);
  here_ = up;
  while (!path_.empty()) {
    if (!constraint_->accept(state(path_.back()).token)) {
      throw std::logic_error("a constraint refuses a token that it has accepted before");
    }
    here_ = path_.back();
    path_.pop_back();
  }
}

/// With the masks of all paths that have none yet, and of one more.
bool MaskTree::affordable() const {
  const auto unasked = static_cast<std::int64_t>(states_.size() - masks_used_) + 1;
  return unasked * dearest_ <= work_left() && work_left() > 0;
}

std::int32_t MaskTree::after(std::int32_t from, TokenId token) {
  if (from == kIllegal || state(from).ended) return kIllegal;
  for (std::int32_t child = state(from).first_child; child >= 0; child = state(child).next_sibling) {
    if (state(child).token == token) return child;
  }
  if (const std::int32_t mask = state(from).mask;
      mask >= 0 && !allows(masks_[static_cast<std::size_t>(mask)], token)) {
    return kIllegal;
  }
  if (!affordable()) return kIllegal;
  go_to(from);
  if (!constraint_->accept(token)) return kIllegal;
  const auto child = static_cast<std::int32_t>(states_.size());
  states_.push_back({.parent = from,
                     .token = token,
                     .depth = state(from).depth + 1,
                     .next_sibling = state(from).first_child,
                     .ended = constraint_->ended()});
  state(from).first_child = child;
  here_ = child;
  return child;
}

std::int32_t MaskTree::at(const DraftTree& tree, std::int32_t node) {
  path_.clear();
  for (; node != DraftTree::kRoot; node = tree.parents()[static_cast<std::size_t>(node)]) {
    path_.push_back(node);
  }
  state_of_.assign(path_.rbegin(), path_.rend());
  std::int32_t at = kRoot;
  for (const std::int32_t n : state_of_) at = after(at, tree.tokens()[static_cast<std::size_t>(n)]);
  return at;
}

/// Has a state's mask filled, and keeps it where `fill` says that it is there. What that took, in
/// TokenConstraint::work().
template <class Fill>
std::int64_t MaskTree::make_mask(std::int32_t at, const Fill& fill) {
  go_to(at);
  if (masks_.size() == masks_used_) masks_.emplace_back(words_);
  const std::int64_t before = constraint_->work();
  const bool filled = fill(masks_[masks_used_]);
  const std::int64_t took = constraint_->work() - before;
  dearest_ = std::max(dearest_, took);
  if (filled) state(at).mask = static_cast<std::int32_t>(masks_used_++);
  return took;
}

TokenMask MaskTree::allowed(std::int32_t at) {
  if (at == kIllegal || state(at).ended || !knows(at)) return {};
  return masks_[static_cast<std::size_t>(state(at).mask)];
}

bool MaskTree::knows(std::int32_t at) {
  if (state(at).ended || state(at).mask >= 0) return true;
  if (at == kRoot) {
    if (!try_root_mask()) make_root_mask({});
    return true;
  }
  if (work_left() <= 0) return false;
  make_mask(at, [&](std::vector<std::uint32_t>& mask) { return constraint_->try_fill(mask, work_left()); });
  return state(at).mask >= 0;
}

bool MaskTree::try_root_mask() {
  if (state(kRoot).ended || state(kRoot).mask >= 0) return true;
  root_work_ = make_mask(
      kRoot, [&](std::vector<std::uint32_t>& mask) { return constraint_->try_fill(mask, kRoundWork); });
  if (state(kRoot).mask >= 0) return true;
  begun_ += root_work_;
  return false;
}

void MaskTree::make_root_mask(const std::function<bool()>& stopped) {
  root_work_ = make_mask(kRoot, [&](std::vector<std::uint32_t>& mask) {
    constraint_->fill_unless(mask, stopped);
    return true;
  });
  begun_ += root_work_;
}

std::string MaskTree::forced(std::int32_t at) {
  go_to(at);
  return constraint_->forced();
}

void MaskTree::prune(DraftTree& tree) {
  state_of_.assign(1, kRoot);
  kept_.assign(1, DraftTree::kRoot);
  for (std::int32_t node = 1; node < tree.size(); ++node) {
    const auto n = static_cast<std::size_t>(node);
    const std::int32_t parent = state_of_[static_cast<std::size_t>(tree.parents()[n])];
    state_of_.push_back(after(parent, tree.tokens()[n]));
    if (state_of_.back() != kIllegal) kept_.push_back(node);
  }
  if (static_cast<std::int32_t>(kept_.size()) < tree.size()) tree.select(kept_);
}

void MaskTree::advance(TokenId token) {
  if (state(kRoot).ended) return;
  go_to(kRoot);
  if (!constraint_->accept(token)) {
    throw std::logic_error("a token was drawn that the constraint does not allow");
  }
  states_.assign(1, State{.ended = constraint_->ended()});
  dearest_ = std::exchange(root_work_, 0);
  begun_ = constraint_->work();
  here_ = kRoot;
  masks_used_ = 0;
}

}  // namespace augur
