#include "draft/heads_drafter.h"

#include <algorithm>
#include <utility>

#include "base/index.h"
#include "draft/common/accepted_tokens.h"
#include "model/row_ops.h"

namespace augur {
namespace {

HeadsDrafter& drafter_of(const ExpandJob& job) {
  return static_cast<HeadsDrafter&>(*job.drafter);
}

const float* forward_prefix(HeadsWeights& w) {
  w.prefix->forward(w.batch.view(), {.embeddings = w.features.data()}, nullptr);
  return w.prefix->result().data();
}

}  // namespace

HeadsDrafter::HeadsDrafter(HeadsWeights& weights, std::int64_t context) : weights_(weights) {
  state_.reserve(at(hidden()));
  if (weights.prefix) sequence_.emplace(weights.prefix->make_cache(context), weights.waiting_states);
}

void HeadsDrafter::reset() {
  length_ = 0;
  state_.clear();
  if (sequence_) sequence_->reset();
}

void HeadsDrafter::end_round() {
  if (sequence_) sequence_->roll_back();
}

void HeadsDrafter::sync(const AcceptedRows& rows) {
  end_round();
  const std::size_t known = known_rows(rows, length_);
  if (known == rows.tokens.size()) return;
  length_ = rows.first_position + std::ssize(rows.tokens);
  if (rows.features == nullptr) return;  // of a text that was resumed: the state comes with the next rows
  if (rows.teaches_all) {
    for (VocabularyHead& exit : weights_.exits) exit.saw(rows.tokens.subspan(known));
  }
  const auto features = [&](std::size_t row) {
    return rows.features + static_cast<std::int64_t>(row) * hidden();
  };
  if (!sequence_) {
    state_.resize(at(hidden()));
    weights_.target.final_norm(features(rows.tokens.size() - 1), 1, state_.data());
    return;
  }
  for (std::size_t i = known; i < rows.tokens.size(); ++i) {
    weights_.target.final_norm(features(i), 1, sequence_->append(rows.tokens[i]));
  }
}

bool HeadsDrafter::run_chunk() {
  if (!sequence_ || !sequence_->has_chunk()) return false;
  weights_.batch.clear();
  weights_.features.clear();
  add_prefix_rows(SequenceRows::kChunk);
  take_prefix_rows(forward_prefix(weights_));
  return true;
}

/// Whether there is a state to draft from: not after a text of one token, nor where the context ends.
bool HeadsDrafter::ready(const DraftTree& tree) const {
  return length_ > 0 && length_ == tree.root_position() &&
         (!sequence_ || sequence_->waiting() <= sequence_->cache().room());
}

// --- The prefix layer ------------------------------------------------------------------------------------

/// Adds the first `count` waiting rows to the layer's forward.
void HeadsDrafter::add_prefix_rows(std::int64_t count) {
  HeadsWeights& w = weights_;
  first_row_ = sequence_->begin(w.batch, count);
  sequence_->copy_features(count, w.features);
}

/// The last row's result is the state to draft from, unless more rows wait.
void HeadsDrafter::take_prefix_rows(const float* results) {
  const std::int64_t last = first_row_ + sequence_->in_flight() - 1;
  sequence_->commit();
  state_.resize(at(hidden()));
  norm_rows(weights_.target.backend(), {results + last * hidden(), hidden()}, 1, weights_.prefix_norm,
            weights_.prefix->config().norm_eps, state_.data(), hidden());
}

void HeadsDrafter::run_prefix(std::span<const ExpandJob> jobs) {
  HeadsWeights& w = drafter_of(jobs.front()).weights_;
  for (const ExpandJob& job : jobs) {  // only the last rows of a long prompt are left to the shared forward
    HeadsDrafter& d = drafter_of(job);
    d.sequence_->roll_back();  // of a forward that failed
    while (!job.frontier.empty() && d.ready(*job.tree) && d.run_chunk()) {
    }
  }
  w.batch.clear();
  w.features.clear();
  for (const ExpandJob& job : jobs) {
    HeadsDrafter& d = drafter_of(job);
    if (!job.frontier.empty() && d.ready(*job.tree) && d.sequence_->waiting() > 0) {
      d.add_prefix_rows(d.sequence_->waiting());
    }
  }
  if (w.batch.empty()) return;
  const float* results = forward_prefix(w);
  for (const ExpandJob& job : jobs) {
    if (drafter_of(job).sequence_->in_flight() > 0) drafter_of(job).take_prefix_rows(results);
  }
}

// --- The heads -------------------------------------------------------------------------------------------

/// Appends what head `depth` reads for a node of that depth.
void HeadsDrafter::append_input(const DraftTree& tree, std::int32_t node, int depth) {
  HeadsWeights& w = weights_;
  const auto width = at(hidden());
  w.inputs.insert(w.inputs.end(), state_.begin(), state_.end());
  if (!w.grounded) return;
  w.inputs.resize(w.inputs.size() + at(depth + 1) * width);
  float* out = w.inputs.data() + w.inputs.size();
  // NOLINTNEXTLINE(bugprone-infinite-loop): a parent comes before its nodes, and the root has -1
  for (std::int32_t n = node; n >= 0; n = tree.parents()[at(n)]) {
    out -= width;
    w.target.embed(tree.tokens().subspan(at(n), 1), out);
  }
}

/// Adds the frontier's nodes of one depth, and the head's inputs for them.
void HeadsDrafter::add_nodes(const ExpandJob& job, std::size_t index, int depth) {
  HeadsWeights& w = weights_;
  if (!ready(*job.tree)) return;
  bool shared = false;  // without embeddings all nodes of a depth have one input
  for (const std::int32_t node : job.frontier) {
    if (job.tree->depths()[at(node)] != depth) continue;
    if (shared) {
      w.candidates.want_same(index, node);
    } else if (w.candidates.want(index, node, static_cast<int>(w.candidates.rows().size()))) {
      append_input(*job.tree, node, depth);
      shared = !w.grounded;
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
  w.candidates.begin(jobs);
  for (int depth = 0; depth < std::ssize(w.heads); ++depth) {
    w.inputs.clear();
    for (std::size_t i = 0; i < jobs.size(); ++i) drafter_of(jobs[i]).add_nodes(jobs[i], i, depth);
    if (w.candidates.empty()) continue;
    ResidualMlp& body = w.heads[at(depth)].body;
    body.run(w.target.backend(), w.inputs.data(), static_cast<int>(w.candidates.rows().size()));
    for (const int row : w.candidates.rows()) w.candidates.head_rows()[at(row)].state = body.state(row);
    w.candidates.add_children(w.exits[at(depth)]);
  }
}

// --- The type --------------------------------------------------------------------------------------------

namespace {

class HeadsModel final : public DrafterModel {
 public:
  explicit HeadsModel(std::unique_ptr<HeadsWeights> weights) : weights_(std::move(weights)) {}
  std::unique_ptr<Drafter> make(const DrafterSettings& settings) const override {
    return std::make_unique<HeadsDrafter>(*weights_, settings.context);
  }
  void forget_learnt() override {
    for (VocabularyHead& exit : weights_->exits) exit.forget();
  }

 private:
  std::unique_ptr<HeadsWeights> weights_;
};

}  // namespace

std::unique_ptr<DrafterModel> make_heads_model(std::unique_ptr<HeadsWeights> weights,
                                               const VocabularyChoice* vocabulary) {
  const Model& target = weights->target;
  for (const HeadsWeights::Head& head : weights->heads) {
    HeadWeights exit = head_of(target);
    exit.norm = {};  // states are normed before the heads
    if (!weights->shares_target_head) {
      exit.matrix = &head.output.weight();
      exit.bias = head.output.bias();
      exit.form = {};
    }
    weights->exits.emplace_back(exit, vocabulary);
  }
  return std::make_unique<HeadsModel>(std::move(weights));
}

}  // namespace augur
