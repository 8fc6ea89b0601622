#include "draft/dflash_drafter.h"

#include <algorithm>

#include "base/index.h"
#include "draft/common/accepted_tokens.h"

namespace augur {
namespace {

DflashDrafter& drafter_of(const ExpandJob& job) {
  return static_cast<DflashDrafter&>(*job.drafter);
}

}  // namespace

std::shared_ptr<DflashHead::Result> DflashWeights::free_result() {
  const auto free =
      std::find_if(results.begin(), results.end(), [](const auto& r) { return r.use_count() == 1; });
  if (free != results.end()) return *free;
  return results.emplace_back(std::make_shared<DflashHead::Result>());
}

DrafterTraits DflashDrafter::traits() const {
  const MarkovHead* markov = weights_.head.markov();
  return {.has_confidence = markov != nullptr && markov->has_confidence(),
          .max_depth = weights_.head.config().depths()};
}

void DflashDrafter::reset() {
  end_round();
  sequence_.reset();
}

void DflashDrafter::end_round() {
  sequence_.roll_back();
  block_.reset();
  result_.reset();
  depths_ = 0;
  row_of_node_.clear();
  markov_rows_ = 0;
}

// --- The text --------------------------------------------------------------------------------------------

void DflashDrafter::sync(const AcceptedRows& rows) {
  end_round();
  DflashWeights& w = weights_;
  const std::int64_t width = w.head.features();
  for (std::size_t i = known_rows(rows, sequence_.length()); i < rows.tokens.size(); ++i) {
    std::copy_n(rows.features + static_cast<std::int64_t>(i) * width, width,
                sequence_.append(rows.tokens[i]));
  }
}

bool DflashDrafter::run_chunk() {
  DflashWeights& w = weights_;
  if (!sequence_.has_chunk()) return false;
  w.batch.clear();
  w.features.clear();
  add_waiting(SequenceRows::kChunk);
  w.head.store(w.batch.view(), w.features.data());
  sequence_.commit();
  return true;
}

/// Adds the first `count` waiting rows to the pass.
void DflashDrafter::add_waiting(std::int64_t count) {
  sequence_.begin(weights_.batch, count);
  sequence_.copy_features(count, weights_.features);
}

/// Whether the job is one for a block: at the root, with room for a slot that predicts.
bool DflashDrafter::drafts(const ExpandJob& job) const {
  if (job.frontier.empty() || job.frontier.front() != DraftTree::kRoot || job.options.max_nodes <= 0) {
    return false;
  }
  const std::int64_t least = sequence_.waiting() + weights_.head.config().first_slot + 1;
  return sequence_.length() == job.tree->root_position() && least <= sequence_.cache().room();
}

void DflashDrafter::run_waiting(std::span<const ExpandJob> jobs) {
  DflashWeights& w = drafter_of(jobs.front()).weights_;
  for (const ExpandJob& job : jobs) {  // only the last rows of a long prompt are left to the shared pass
    DflashDrafter& d = drafter_of(job);
    d.sequence_.roll_back();  // of a pass that failed
    d.block_.reset();
    if (!d.drafts(job)) continue;
    d.end_round();  // it may have drafted from this root before
    while (d.run_chunk()) {
    }
  }
  w.batch.clear();
  w.features.clear();
  for (const ExpandJob& job : jobs) {
    DflashDrafter& d = drafter_of(job);
    if (!d.drafts(job)) continue;
    if (d.sequence_.waiting() > 0) d.add_waiting(d.sequence_.waiting());
  }
  if (w.batch.empty()) return;
  w.head.store(w.batch.view(), w.features.data());
  for (const ExpandJob& job : jobs) {
    if (drafter_of(job).sequence_.in_flight() > 0) drafter_of(job).sequence_.commit();
  }
}

// --- The block -------------------------------------------------------------------------------------------

void DflashDrafter::add_block(const ExpandJob& job) {
  DflashWeights& w = weights_;
  const DflashConfig& config = w.head.config();
  // Where the context ends the block is cut.
  const auto rows = static_cast<std::int32_t>(std::min<std::int64_t>(config.block, sequence_.cache().room()));
  block_.emplace(sequence_.cache().reserve(rows));
  first_ = static_cast<int>(w.wanted.size());
  depths_ = rows - config.first_slot;
  const std::int32_t first = w.batch.add_chain(*block_, job.tree->tokens().first(1), rows - 1);
  for (std::int32_t i = config.first_slot; i < rows; ++i) w.wanted.push_back(first + i);
}

void DflashDrafter::run_blocks(std::span<const ExpandJob> jobs) {
  DflashWeights& w = drafter_of(jobs.front()).weights_;
  w.batch.clear();
  w.wanted.clear();
  for (const ExpandJob& job : jobs) {
    if (drafter_of(job).drafts(job)) drafter_of(job).add_block(job);
  }
  if (w.batch.empty()) return;
  const std::shared_ptr<DflashHead::Result> result = w.free_result();
  w.head.run(w.batch.view(), w.wanted, *result);
  for (const ExpandJob& job : jobs) {
    DflashDrafter& d = drafter_of(job);
    if (!d.block_) continue;
    d.block_.reset();  // its keys and values go
    d.result_ = result;
  }
}

// --- The tree --------------------------------------------------------------------------------------------

void DflashDrafter::expand(DraftTree& tree, std::span<const std::int32_t> frontier,
                           const ExpandOptions& options) {
  const ExpandJob job{this, &tree, frontier, options};
  expand_many({&job, 1});
}

void DflashDrafter::expand_many(std::span<const ExpandJob> jobs) {
  DflashWeights& w = weights_;
  run_waiting(jobs);
  run_blocks(jobs);
  w.candidates.begin(jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) drafter_of(jobs[i]).add_nodes(jobs[i], i);
  if (w.head.markov() != nullptr && !w.candidates.empty()) run_markov(w);
  w.candidates.add_children(w.head.backend(), w.head.target_ids());
}

/// Offers the logits of the frontier's slots for children.
void DflashDrafter::add_nodes(const ExpandJob& job, std::size_t index) {
  if (!result_) return;
  const MarkovHead* markov = weights_.head.markov();
  for (const std::int32_t node : job.frontier) {
    const std::int32_t depth = job.tree->depths()[at(node)];
    if (depth >= depths_) continue;
    const int slot = first_ + depth;
    if (!weights_.candidates.offer(index, node, result_->logits(slot), result_->state(slot))) break;
    if (markov == nullptr) continue;
    row_of_node_.resize(at(job.tree->size()), -1);
    row_of_node_[at(node)] = markov_rows_++;
  }
  if (markov == nullptr) return;
  latents_.resize(at(markov_rows_ * markov->rank()));
  if (markov->has_path_states()) path_states_.resize(latents_.size());
  if (markov->has_confidence()) confidences_.resize(at(markov_rows_));
}

// --- DSpark's bias ---------------------------------------------------------------------------------------

/// Puts the biased logits of all nodes in the place of their slots'; those whose confidence is below what the
/// policy asks for get no children.
void DflashDrafter::run_markov(DflashWeights& w) {
  MarkovHead& markov = *w.head.markov();
  w.latents.clear();
  for (std::size_t i = 0; i < w.candidates.size(); ++i) {
    const NodeLogits& node = w.candidates.nodes()[i];
    w.latents.push_back(drafter_of(w.candidates.job(i)).markov_row(*node.tree, node.node));
  }
  markov.latents(w.head.backend(), w.latents);
  w.biased.clear();
  w.candidates.filter([&](std::size_t i) {
    const NodeLogits& node = w.candidates.nodes()[i];
    const MarkovHead::Row& row = w.latents[i];
    if (row.confidence != nullptr && static_cast<double>(*row.confidence) < node.options->least_confidence) {
      return false;
    }
    w.biased.push_back({.latent = row.latent, .logits = node.logits.data()});
    return true;
  });
  markov.add_bias(w.head.backend(), w.biased);
  for (std::size_t i = 0; i < w.candidates.size(); ++i) w.candidates.nodes()[i].logits = markov.logits(i);
}

MarkovHead::Row DflashDrafter::markov_row(const DraftTree& tree, std::int32_t node) {
  const MarkovHead& markov = *weights_.head.markov();
  const std::int32_t row = row_of(node);
  MarkovHead::Row out{.token = tree.tokens()[at(node)],
                      .state = result_->state(first_ + tree.depths()[at(node)]).data(),
                      .latent = latents_.data() + row * markov.rank()};
  if (markov.has_path_states()) {
    const std::int32_t parent = tree.parents()[at(node)];
    const std::int32_t before = parent < 0 ? -1 : row_of(parent);
    out.path_after = path_states_.data() + row * markov.rank();
    if (before >= 0) out.path_before = path_states_.data() + before * markov.rank();
  }
  if (markov.has_confidence()) out.confidence = &confidences_[at(row)];
  return out;
}

std::int32_t DflashDrafter::row_of(std::int32_t node) const {
  return at(node) < row_of_node_.size() ? row_of_node_[at(node)] : -1;
}

// --- The types -------------------------------------------------------------------------------------------

namespace {

class DflashModel final : public DrafterModel {
 public:
  DflashModel(const DrafterSource& source, bool dspark)
      : weights_(std::make_unique<DflashWeights>(source, dspark)) {}
  std::unique_ptr<Drafter> make(const DrafterSettings& settings) const override {
    return std::make_unique<DflashDrafter>(*weights_, settings.context);
  }

 private:
  std::unique_ptr<DflashWeights> weights_;
};

}  // namespace

/// DFlash heads: their own layout, and that of speculators and vLLM.
std::unique_ptr<DrafterModel> load_dflash_drafter(const DrafterSource& source) {
  return std::make_unique<DflashModel>(source, false);
}

/// DSpark heads, which are DFlash's with a Markov head: DeepSpec's layout, and that of speculators and vLLM.
std::unique_ptr<DrafterModel> load_dspark_drafter(const DrafterSource& source) {
  return std::make_unique<DflashModel>(source, true);
}

}  // namespace augur
