#include "draft/heads_drafter.h"

#include <algorithm>
#include <cassert>

#include "kernels/ops.h"

namespace augur {
namespace {

/// Waiting rows beyond this many run in a forward of their own.
constexpr std::int64_t kChunk = 256;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

HeadsDrafter& drafter_of(const ExpandJob& job) {
  return static_cast<HeadsDrafter&>(*job.drafter);
}

}  // namespace

HeadsDrafter::HeadsDrafter(HeadsWeights& weights, std::int64_t context) : weights_(weights) {
  if (weights.prefix) cache_.emplace(weights.prefix->make_cache(context));
}

void HeadsDrafter::reset() {
  rows_ = 0;
  pending_.clear();
  state_.clear();
  if (cache_) cache_->truncate(0);
}

void HeadsDrafter::sync(const AcceptedRows& rows) {
  const std::int64_t known = rows_ - rows.first_position;
  assert(known >= 0 && "a gap in the accepted rows");
  const std::int64_t fresh = std::ssize(rows.tokens) - known;
  if (fresh <= 0) return;
  rows_ += fresh;
  for (VocabularyHead& exit : weights_.exits) exit.saw(rows.tokens.subspan(at(known)));
  const std::int64_t width = hidden();
  if (!cache_) {
    state_.resize(at(width));
    weights_.target.final_norm(rows.features + (std::ssize(rows.tokens) - 1) * width, 1, state_.data());
    return;
  }
  pending_.resize(pending_.size() + at(fresh * width));
  weights_.target.final_norm(rows.features + known * width, static_cast<int>(fresh),
                             pending_.data() + std::ssize(pending_) - fresh * width);
  // Only the last rows of a long prompt wait.
  while (waiting() > kChunk && cache_->room() >= kChunk) run_prefix_chunk();
}

/// Whether there is a state to draft from: not after a text of one token, nor where the context ends.
bool HeadsDrafter::ready(const DraftTree& tree) const {
  return rows_ > 0 && rows_ == tree.root_position() && (!cache_ || waiting() <= cache_->room());
}

// --- The prefix layer
// ----------------------------------------------------------------------------------------

/// Adds the first `count` waiting rows to the layer's forward.
void HeadsDrafter::add_prefix_rows(std::int64_t count) {
  HeadsWeights& w = weights_;
  txn_.emplace(cache_->reserve(count));
  first_row_ = static_cast<int>(w.tokens.size());
  for (int i = 0; i < static_cast<int>(count); ++i) {
    w.tokens.push_back(0);  // the rows are given
    w.positions.push_back(static_cast<std::int32_t>(cache_->length()) + i);
    w.parents.push_back(i == 0 ? -1 : first_row_ + i - 1);
  }
  w.features.insert(w.features.end(), pending_.begin(),
                    pending_.begin() + static_cast<std::ptrdiff_t>(count * hidden()));
  w.sequences.push_back({.kv = &*txn_, .first_row = first_row_, .rows = static_cast<int>(count)});
}

void HeadsDrafter::take_prefix_rows(const float* last, std::int64_t count) {
  txn_->commit_all();
  txn_.reset();
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(count * hidden()));
  state_.resize(at(hidden()));
  rms_norm(last, weights_.prefix_norm.data(), weights_.prefix->config().norm_eps, hidden(), DType::F32,
           state_.data());
}

namespace {

void clear_prefix_batch(HeadsWeights& w) {
  w.tokens.clear();
  w.features.clear();
  w.positions.clear();
  w.parents.clear();
  w.sequences.clear();
}

std::span<const float> forward_prefix(HeadsWeights& w) {
  return w.prefix->forward(
      {.tokens = w.tokens, .positions = w.positions, .parents = w.parents, .sequences = w.sequences},
      {.embeddings = w.features.data()}, nullptr);
}

}  // namespace

void HeadsDrafter::run_prefix_chunk() {
  clear_prefix_batch(weights_);
  add_prefix_rows(kChunk);
  const float* results = forward_prefix(weights_).data();
  take_prefix_rows(results + (kChunk - 1) * hidden(), kChunk);
}

void HeadsDrafter::run_prefix(std::span<const ExpandJob> jobs) {
  HeadsWeights& w = drafter_of(jobs.front()).weights_;
  const auto runs = [](const ExpandJob& job) {
    const HeadsDrafter& d = drafter_of(job);
    return d.waiting() > 0 && !job.frontier.empty() && d.ready(*job.tree);
  };
  clear_prefix_batch(w);
  for (const ExpandJob& job : jobs) {
    if (runs(job)) drafter_of(job).add_prefix_rows(drafter_of(job).waiting());
  }
  if (w.tokens.empty()) return;
  const float* results = forward_prefix(w).data();
  for (const ExpandJob& job : jobs) {
    HeadsDrafter& d = drafter_of(job);
    if (!d.txn_) continue;
    const std::int64_t count = d.waiting();
    d.take_prefix_rows(results + (d.first_row_ + count - 1) * d.hidden(), count);
  }
}

// --- The heads
// -------------------------------------------------------------------------------------------------

/// Appends what head `depth` reads for a node of that depth.
void HeadsDrafter::append_input(const DraftTree& tree, std::int32_t node, int depth) {
  HeadsWeights& w = weights_;
  const auto width = at(hidden());
  w.inputs.insert(w.inputs.end(), state_.begin(), state_.end());
  if (!w.grounded) return;
  w.inputs.resize(w.inputs.size() + at(depth + 1) * width);
  float* out = w.inputs.data() + w.inputs.size();
  for (std::int32_t n = node; n >= 0; n = tree.parents()[at(n)]) {
    out -= width;
    w.target.embed(tree.tokens().subspan(at(n), 1), out);
  }
}

/// The frontiers' nodes of one depth, and the head's inputs for them.
void HeadsDrafter::collect_rows(std::span<const ExpandJob> jobs, int depth) {
  HeadsWeights& w = weights_;
  w.rows.clear();
  w.inputs.clear();
  w.head_rows.clear();
  int inputs = 0;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const DraftTree& tree = *jobs[j].tree;
    HeadsDrafter& self = drafter_of(jobs[j]);
    if (!self.ready(tree)) continue;
    bool shared = false;  // without embeddings all nodes of a depth have one input
    for (const std::int32_t node : jobs[j].frontier) {
      if (tree.depths()[at(node)] != depth || w.budgets[j].spent()) continue;
      if (!shared) {
        self.append_input(tree, node, depth);
        w.head_rows.push_back({.token = tree.tokens()[at(node)],
                               .step = depth,
                               .sequence = static_cast<int>(j),
                               .weight = path_weight(tree, node)});
        ++inputs;
        shared = !w.grounded;
      }
      const int count = w.budgets[j].take(w.exits[at(depth)].size());
      w.rows.push_back({.job = j, .node = node, .input = inputs - 1, .count = count});
    }
  }
}

void HeadsDrafter::expand(DraftTree& tree, std::span<const std::int32_t> frontier,
                          const ExpandOptions& options) {
  const ExpandJob job{this, &tree, frontier, options};
  expand_many({&job, 1});
}

void HeadsDrafter::expand_many(std::span<const ExpandJob> jobs) {
  HeadsWeights& w = weights_;
  if (w.prefix) run_prefix(jobs);
  w.budgets.clear();
  for (const ExpandJob& job : jobs) w.budgets.emplace_back(job.options);
  for (int depth = 0; depth < std::ssize(w.heads); ++depth) {
    collect_rows(jobs, depth);
    if (w.rows.empty()) continue;
    MlpHead& head = w.heads[at(depth)];
    VocabularyHead& exit = w.exits[at(depth)];
    const int inputs = w.rows.back().input + 1;
    head.run(w.target.backend(), w.inputs.data(), inputs);
    for (int i = 0; i < inputs; ++i) w.head_rows[at(i)].state = head.state(i);
    const int best = best_wanted(jobs);
    exit.run(w.head_rows, best);
    w.nodes.clear();
    for (const HeadsWeights::Row& row : w.rows) {
      const ExpandJob& job = jobs[row.job];
      w.nodes.push_back({job.tree, row.node, &job.options, row.count, {}, {}});
      set_logits(w.nodes.back(), exit, at(row.input), best);
    }
    w.chooser.add_children(w.target.backend().pool, w.nodes, exit.target_ids());
  }
}

// --- The type
// -------------------------------------------------------------------------

namespace {

class HeadsModel final : public DrafterModel {
 public:
  explicit HeadsModel(std::unique_ptr<HeadsWeights> weights) : weights_(std::move(weights)) {}
  std::unique_ptr<Drafter> make(const DrafterSettings& settings) const override {
    return std::make_unique<HeadsDrafter>(*weights_, settings.context);
  }

 private:
  std::unique_ptr<HeadsWeights> weights_;
};

}  // namespace

std::unique_ptr<DrafterModel> make_heads_model(std::unique_ptr<HeadsWeights> weights,
                                               const VocabularyChoice* vocabulary) {
  Model& target = weights->target;
  for (const MlpHead& head : weights->heads) {
    if (weights->shares_target_head) {
      HeadWeights exit = head_of(target);
      exit.norm = {};  // states are normed before the heads
      weights->exits.emplace_back(exit, vocabulary);
    } else {
      weights->exits.emplace_back(head.exit(target.backend(), &target.embedding()), vocabulary);
    }
  }
  return std::make_unique<HeadsModel>(std::move(weights));
}

}  // namespace augur
