#include "tree/draft_tree.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "tree/usual_sizes.h"

namespace augur {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

}  // namespace

DraftTree::DraftTree() {
  for (auto* ids : {&tokens_, &parents_, &depths_, &first_child_, &last_child_, &next_sibling_, &q_row_,
                    &hidden_row_, &renumbered_, &kept_}) {
    ids->reserve(kUsualTree);
  }
  log_probs_.reserve(kUsualTree);
  scores_.reserve(kUsualTree);
  steps_.reserve(kUsualTree);
  entropies_.reserve(kUsualTree);
  top_entropies_.reserve(kUsualTree);
  proposers_.reserve(kUsualTree);
  reset(0, 0);
}

void DraftTree::reset(TokenId token, std::int64_t position) {
  root_position_ = position;
  max_depth_ = 0;
  tokens_.assign(1, token);
  parents_.assign(1, -1);
  depths_.assign(1, 0);
  log_probs_.assign(1, 0.0f);
  scores_.assign(1, 0.0f);
  proposers_.assign(1, kTargetProposer);
  first_child_.assign(1, -1);
  last_child_.assign(1, -1);
  next_sibling_.assign(1, -1);
  q_row_.assign(1, -1);
  entropies_.assign(1, kUnknown);
  top_entropies_.assign(1, kUnknown);
  hidden_row_.assign(1, -1);
  hidden_rows_ = 0;
  law_ = ProposalLaw::Deterministic;
  q_rows_ = 0;
}

std::int32_t DraftTree::add(std::int32_t parent, TokenId token, float log_prob, ProposerId proposer) {
  assert(parent >= 0 && parent < size());
  if (const std::int32_t existing = find_child(parent, token); existing >= 0) return existing;
  const std::int32_t node = size();
  const std::size_t p = index(parent);
  tokens_.push_back(token);
  parents_.push_back(parent);
  depths_.push_back(depths_[p] + 1);
  log_probs_.push_back(log_prob);
  scores_.push_back(scores_[p] + log_prob);
  proposers_.push_back(proposer);
  first_child_.push_back(-1);
  last_child_.push_back(-1);
  next_sibling_.push_back(-1);
  q_row_.push_back(-1);
  entropies_.push_back(kUnknown);
  top_entropies_.push_back(kUnknown);
  hidden_row_.push_back(-1);
  if (last_child_[p] < 0) {
    first_child_[p] = node;
  } else {
    next_sibling_[index(last_child_[p])] = node;
  }
  last_child_[p] = node;
  max_depth_ = std::max(max_depth_, depths_.back());
  return node;
}

void DraftTree::graft(const DraftTree& other) {
  assert(law_ == ProposalLaw::Deterministic && other.law_ == ProposalLaw::Deterministic);
  assert(tokens_[0] == other.tokens_[0] && root_position_ == other.root_position_);
  const auto step = [](const DraftTree& tree, std::size_t node) {
    return tree.scores_[node] - tree.scores_[index(tree.parents_[node])];
  };
  steps_.assign(1, 0.0f);
  for (std::size_t node = 1; node < tokens_.size(); ++node) steps_.push_back(step(*this, node));
  renumbered_.assign(other.tokens_.size(), kRoot);
  const auto take_entropies = [&](std::size_t here, std::size_t there) {
    if (std::isnan(entropies_[here])) entropies_[here] = other.entropies_[there];
    if (std::isnan(top_entropies_[here])) top_entropies_[here] = other.top_entropies_[there];
  };
  take_entropies(0, 0);
  for (std::size_t node = 1; node < other.tokens_.size(); ++node) {
    const std::int32_t parent = renumbered_[index(other.parents_[node])];
    const std::int32_t place =
        add(parent, other.tokens_[node], other.log_probs_[node], other.proposers_[node]);
    renumbered_[node] = place;
    const std::size_t here = index(place);
    take_entropies(here, node);
    const float theirs = step(other, node);
    if (here == steps_.size()) {
      steps_.push_back(theirs);
    } else if (theirs > steps_[here]) {
      steps_[here] = theirs;
      log_probs_[here] = other.log_probs_[node];
    }
  }
  for (std::size_t node = 1; node < tokens_.size(); ++node) {
    scores_[node] = scores_[index(parents_[node])] + steps_[node];
  }
}

std::int32_t DraftTree::find_child(std::int32_t parent, TokenId token) const {
  for (std::int32_t child = first_child(parent); child >= 0; child = next_sibling(child)) {
    if (tokens_[index(child)] == token) return child;
  }
  return -1;
}

/// Fills `renumbered_`. Whoever writes a policy may get this wrong, and a tree with a node that has lost its
/// parent would be verified against another text.
void DraftTree::renumber(std::span<const std::int32_t> keep) {
  if (keep.empty() || keep.front() != kRoot) throw std::logic_error("DraftTree::select: without the root");
  renumbered_.assign(tokens_.size(), -1);
  renumbered_[0] = 0;
  for (std::size_t to = 1; to < keep.size(); ++to) {
    if (keep[to] <= keep[to - 1] || keep[to] >= size()) {
      throw std::logic_error("DraftTree::select: nodes that do not ascend, or that there are not");
    }
    if (renumbered_[index(parents_[index(keep[to])])] < 0) {
      throw std::logic_error("DraftTree::select: a node without its parent");
    }
    renumbered_[index(keep[to])] = static_cast<std::int32_t>(to);
  }
}

void DraftTree::select(std::span<const std::int32_t> keep) {
  renumber(keep);
  for (std::size_t to = 1; to < keep.size(); ++to) {
    const std::size_t from = index(keep[to]);
    tokens_[to] = tokens_[from];
    parents_[to] = renumbered_[index(parents_[from])];
    depths_[to] = depths_[from];
    log_probs_[to] = log_probs_[from];
    scores_[to] = scores_[from];
    proposers_[to] = proposers_[from];
    q_row_[to] = q_row_[from];
    entropies_[to] = entropies_[from];
    top_entropies_[to] = top_entropies_[from];
    hidden_row_[to] = hidden_row_[from];
  }
  truncate(static_cast<std::int32_t>(keep.size()));
}

void DraftTree::truncate(std::int32_t count) {
  assert(count >= 1 && count <= size());
  const std::size_t n = index(count);
  tokens_.resize(n);
  parents_.resize(n);
  depths_.resize(n);
  log_probs_.resize(n);
  scores_.resize(n);
  proposers_.resize(n);
  q_row_.resize(n);
  entropies_.resize(n);
  top_entropies_.resize(n);
  hidden_row_.resize(n);
  rebuild_links();
}

void DraftTree::limit_depth(int depth) {
  if (max_depth_ <= depth) return;
  kept_.clear();
  for (std::int32_t node = 0; node < size(); ++node) {
    if (node == kRoot || depths_[index(node)] <= depth) kept_.push_back(node);
  }
  select(kept_);
}

void DraftTree::rebuild_links() {
  const std::size_t n = tokens_.size();
  first_child_.assign(n, -1);
  last_child_.assign(n, -1);
  next_sibling_.assign(n, -1);
  max_depth_ = 0;
  for (std::size_t node = 1; node < n; ++node) {
    const std::size_t p = index(parents_[node]);
    const auto id = static_cast<std::int32_t>(node);
    if (last_child_[p] < 0) {
      first_child_[p] = id;
    } else {
      next_sibling_[index(last_child_[p])] = id;
    }
    last_child_[p] = id;
    max_depth_ = std::max(max_depth_, depths_[node]);
  }
}

void DraftTree::set_sampled(std::int32_t vocab) {
  assert(only_root() && "the law is declared before anything is drawn");
  law_ = ProposalLaw::Sampled;
  q_vocab_ = vocab;
}

std::span<float> DraftTree::make_q(std::int32_t parent) {
  assert(law_ == ProposalLaw::Sampled && q_row_[index(parent)] < 0);
  const auto vocab = static_cast<std::size_t>(q_vocab_);
  q_row_[index(parent)] = static_cast<std::int32_t>(q_rows_);
  const std::size_t offset = q_rows_++ * vocab;
  if (q_.size() < offset + vocab) q_.resize(offset + vocab);
  return {q_.data() + offset, vocab};
}

std::span<const float> DraftTree::q(std::int32_t parent) const {
  const std::int32_t row = q_row_[index(parent)];
  if (row < 0) return {};
  const auto vocab = static_cast<std::size_t>(q_vocab_);
  return {q_.data() + static_cast<std::size_t>(row) * vocab, vocab};
}

std::span<float> DraftTree::make_hidden(std::int32_t node, std::size_t width) {
  assert(hidden_row_[index(node)] < 0 && (hidden_rows_ == 0 || hidden_width_ == width));
  hidden_width_ = width;
  hidden_row_[index(node)] = static_cast<std::int32_t>(hidden_rows_);
  const std::size_t offset = hidden_rows_++ * width;
  if (hidden_.size() < offset + width) hidden_.resize(offset + width);
  return {hidden_.data() + offset, width};
}

std::span<const float> DraftTree::hidden(std::int32_t node) const {
  const std::int32_t row = hidden_row_[index(node)];
  if (row < 0) return {};
  return {hidden_.data() + static_cast<std::size_t>(row) * hidden_width_, hidden_width_};
}

void DraftTree::append_rows(std::vector<TokenId>& tokens, std::vector<std::int32_t>& positions,
                            std::vector<std::int32_t>& parents) const {
  const auto first = static_cast<std::int32_t>(tokens.size());
  tokens.insert(tokens.end(), tokens_.begin(), tokens_.end());
  for (std::int32_t node = 0; node < size(); ++node) {
    positions.push_back(static_cast<std::int32_t>(root_position_) + depths_[index(node)]);
    parents.push_back(node == kRoot ? -1 : first + parents_[index(node)]);
  }
}

}  // namespace augur
