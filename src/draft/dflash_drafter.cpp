#include "draft/dflash_drafter.h"

#include <algorithm>
#include <cassert>

#include "draft/child_budget.h"

namespace augur {
namespace {

/// Waiting rows beyond this many get their keys and values in a pass of their own.
constexpr std::int64_t kChunk = 256;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

DflashDrafter& drafter_of(const ExpandJob& job) {
  return static_cast<DflashDrafter&>(*job.drafter);
}

}  // namespace

void DflashWeights::clear() {
  tokens.clear();
  positions.clear();
  parents.clear();
  sequences.clear();
  features.clear();
  wanted.clear();
}

std::shared_ptr<DflashHead::Result> DflashWeights::free_result() {
  const auto free =
      std::find_if(results.begin(), results.end(), [](const auto& r) { return r.use_count() == 1; });
  if (free != results.end()) return *free;
  return results.emplace_back(std::make_shared<DflashHead::Result>());
}

void DflashDrafter::reset() {
  end_round();
  cache_.truncate(0);
  pending_.clear();
}

void DflashDrafter::end_round() {
  txn_.reset();
  result_.reset();
  depths_ = 0;
  depth_of_node_.clear();
  row_of_node_.clear();
  markov_rows_ = 0;
}

// --- The text
// ------------------------------------------------------------------------------------------------

void DflashDrafter::sync(const AcceptedRows& rows) {
  assert(!txn_);
  const std::int64_t known = cache_.length() + waiting() - rows.first_position;
  assert(known >= 0 && "a gap in the accepted rows");
  const std::int64_t width = weights_.head.features();
  const std::int64_t count = std::ssize(rows.tokens);
  if (known < count) {
    pending_.insert(pending_.end(), rows.features + known * width, rows.features + count * width);
  }
  // Only the last rows of a long prompt wait.
  while (waiting() > kChunk && cache_.room() >= kChunk) store_chunk();
}

void DflashDrafter::store_chunk() {
  weights_.clear();
  add_context(kChunk);
  weights_.head.store(weights_.batch(), weights_.features.data());
  finish_context(kChunk);
}

/// Adds the first `count` waiting rows to the pass.
void DflashDrafter::add_context(std::int64_t count) {
  DflashWeights& w = weights_;
  txn_.emplace(cache_.reserve(count));
  const auto first = static_cast<std::int32_t>(w.tokens.size());
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(count); ++i) {
    w.tokens.push_back(0);  // the rows are given
    w.positions.push_back(static_cast<std::int32_t>(cache_.length()) + i);
    w.parents.push_back(i == 0 ? -1 : first + i - 1);
  }
  w.features.insert(w.features.end(), pending_.begin(),
                    pending_.begin() + static_cast<std::ptrdiff_t>(count * w.head.features()));
  w.sequences.push_back({.kv = &*txn_, .first_row = first, .rows = static_cast<int>(count)});
}

void DflashDrafter::finish_context(std::int64_t count) {
  txn_->commit_all();
  txn_.reset();
  pending_.erase(pending_.begin(),
                 pending_.begin() + static_cast<std::ptrdiff_t>(count * weights_.head.features()));
}

/// A block is run for a new round, and for drafting anew from its root.
bool DflashDrafter::wants_block(const ExpandJob& job) const {
  if (job.frontier.empty() || job.options.max_nodes <= 0) return false;
  if (result_ && job.frontier.front() != DraftTree::kRoot) return false;
  const std::int64_t least = waiting() + weights_.head.config().first_slot + 1;
  return cache_.length() + waiting() == job.tree->root_position() && least <= cache_.room();
}

void DflashDrafter::run_context(std::span<const ExpandJob> jobs) {
  DflashWeights& w = drafter_of(jobs.front()).weights_;
  w.clear();
  for (const ExpandJob& job : jobs) {
    DflashDrafter& d = drafter_of(job);
    if (d.wants_block(job) && d.waiting() > 0) d.add_context(d.waiting());
  }
  if (w.tokens.empty()) return;
  w.head.store(w.batch(), w.features.data());
  for (const ExpandJob& job : jobs) {
    DflashDrafter& d = drafter_of(job);
    if (d.txn_) d.finish_context(d.waiting());
  }
}

// --- The block
// -----------------------------------------------------------------------------------------------

void DflashDrafter::add_block(const ExpandJob& job) {
  end_round();
  DflashWeights& w = weights_;
  const DflashConfig& config = w.head.config();
  // Where the context ends the block is cut.
  const auto rows = static_cast<std::int32_t>(std::min<std::int64_t>(config.block, cache_.room()));
  txn_.emplace(cache_.reserve(rows));
  first_ = static_cast<int>(w.wanted.size());
  depths_ = rows - config.first_slot;
  const auto first = static_cast<std::int32_t>(w.tokens.size());
  for (std::int32_t i = 0; i < rows; ++i) {
    w.tokens.push_back(i == 0 ? job.tree->tokens()[0] : 0);
    w.positions.push_back(static_cast<std::int32_t>(cache_.length()) + i);
    w.parents.push_back(i == 0 ? -1 : first + i - 1);
    if (i >= config.first_slot) w.wanted.push_back(first + i);
  }
  w.sequences.push_back({.kv = &*txn_, .first_row = first, .rows = rows});
}

void DflashDrafter::run_blocks(std::span<const ExpandJob> jobs) {
  DflashWeights& w = drafter_of(jobs.front()).weights_;
  w.clear();
  for (const ExpandJob& job : jobs) {
    if (drafter_of(job).wants_block(job)) drafter_of(job).add_block(job);
  }
  if (w.tokens.empty()) return;
  const std::shared_ptr<DflashHead::Result> result = w.free_result();
  w.head.run(w.batch(), w.wanted, *result);
  for (const ExpandJob& job : jobs) {
    DflashDrafter& d = drafter_of(job);
    if (!d.txn_) continue;
    d.txn_.reset();  // the block's keys and values go
    d.result_ = result;
  }
}

// --- The tree
// ------------------------------------------------------------------------------------------------

void DflashDrafter::expand(DraftTree& tree, std::span<const std::int32_t> frontier,
                           const ExpandOptions& options) {
  const ExpandJob job{this, &tree, frontier, options};
  expand_many({&job, 1});
}

void DflashDrafter::expand_many(std::span<const ExpandJob> jobs) {
  DflashWeights& w = weights_;
  run_context(jobs);
  run_blocks(jobs);
  w.nodes.clear();
  w.owners.clear();
  for (const ExpandJob& job : jobs) drafter_of(job).add_nodes(job);
  if (w.nodes.empty()) return;
  if (w.head.markov() != nullptr) {
    run_latents(w);
    drop_doubted(w);
    if (w.nodes.empty()) return;
    add_bias(w);
  }
  w.chooser.add_children(w.head.backend().pool, w.nodes, w.head.target_ids());
}

/// Offers the logits of the frontier's slots for children.
void DflashDrafter::add_nodes(const ExpandJob& job) {
  if (!result_) return;
  DflashWeights& w = weights_;
  depth_of_node_.resize(at(job.tree->size()), -1);
  ChildBudget budget(job.options);
  for (const std::int32_t node : job.frontier) {
    const std::int32_t depth = job.tree->depths()[at(node)];
    if (depth >= depths_) continue;
    if (budget.spent()) return;
    depth_of_node_[at(node)] = depth;
    w.nodes.push_back({job.tree, node, &job.options, budget.take(w.head.vocab()),
                       result_->logits(first_ + depth), result_->state(first_ + depth)});
    w.owners.push_back(this);
  }
}

DrafterTraits DflashDrafter::traits() const {
  const MarkovHead* markov = weights_.head.markov();
  return {.has_confidence = markov != nullptr && markov->has_confidence(),
          .max_depth = weights_.head.config().depths()};
}

std::span<const float> DflashDrafter::state(std::int32_t node) const {
  if (!result_ || at(node) >= depth_of_node_.size() || depth_of_node_[at(node)] < 0) return {};
  return result_->state(first_ + depth_of_node_[at(node)]);
}

// --- DSpark's bias
// -------------------------------------------------------------------------------------------

/// Nodes whose confidence is below what the policy asks for get no children.
void DflashDrafter::drop_doubted(DflashWeights& w) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < w.nodes.size(); ++i) {
    const std::optional<float> confidence = w.owners[i]->confidence(w.nodes[i].node);
    if (confidence && static_cast<double>(*confidence) < w.nodes[i].options->least_confidence) continue;
    w.nodes[kept] = w.nodes[i];
    w.owners[kept++] = w.owners[i];
  }
  w.nodes.resize(kept);
  w.owners.resize(kept);
}

/// Puts the biased logits of all nodes in the place of their slots'.
void DflashDrafter::add_bias(DflashWeights& w) {
  const std::int64_t stride = (w.head.vocab() + 15) / 16 * 16;
  const std::size_t size = w.nodes.size() * at(stride);
  if (w.logits.size() < size) w.logits = Buffer<float>(size);
  w.biased.clear();
  for (std::size_t i = 0; i < w.nodes.size(); ++i) {
    w.biased.push_back({.latent = w.owners[i]->latent(w.nodes[i].node), .logits = w.nodes[i].logits.data()});
  }
  w.head.markov()->add_bias(w.head.backend(), w.biased, w.logits.data(), stride);
  for (std::size_t i = 0; i < w.nodes.size(); ++i) {
    w.nodes[i].logits = {w.logits.data() + i * at(stride), at(w.head.vocab())};
  }
}

void DflashDrafter::run_latents(DflashWeights& w) {
  w.todo.clear();
  for (std::size_t i = 0; i < w.nodes.size(); ++i)
    w.owners[i]->plan_latents(*w.nodes[i].tree, w.nodes[i].node);
  MarkovHead& markov = *w.head.markov();
  // States that run along paths take a pass for every level that lacks them, which mostly is one.
  const int depths = w.head.config().depths();
  for (int depth = 0; depth < depths; ++depth) {
    w.rows.clear();
    for (const DflashWeights::Todo& todo : w.todo) {
      if (markov.has_path_states() && todo.tree->depths()[at(todo.node)] != depth) continue;
      w.rows.push_back(todo.drafter->markov_row(*todo.tree, todo.node));
    }
    if (!w.rows.empty()) markov.latents(w.head.backend(), w.rows);
    if (!markov.has_path_states()) return;
  }
}

/// Lists the node, and where states run along paths those of its ancestors that other drafters proposed and
/// nobody has expanded here.
void DflashDrafter::plan_latents(const DraftTree& tree, std::int32_t node) {
  const MarkovHead& markov = *weights_.head.markov();
  row_of_node_.resize(at(tree.size()), -1);
  for (std::int32_t n = node; n >= 0 && row_of_node_[at(n)] < 0; n = tree.parents()[at(n)]) {
    row_of_node_[at(n)] = static_cast<std::int32_t>(markov_rows_++);
    weights_.todo.push_back({this, &tree, n});
    if (!markov.has_path_states()) break;
  }
  latents_.resize(at(markov_rows_ * markov.rank()));
  if (markov.has_path_states()) path_states_.resize(latents_.size());
  if (markov.has_confidence()) confidences_.resize(at(markov_rows_));
}

MarkovHead::Row DflashDrafter::markov_row(const DraftTree& tree, std::int32_t node) {
  const MarkovHead& markov = *weights_.head.markov();
  const std::int32_t row = row_of_node_[at(node)];
  MarkovHead::Row out{.token = tree.tokens()[at(node)],
                      .state = result_->state(first_ + tree.depths()[at(node)]).data(),
                      .latent = latent(node)};
  if (markov.has_path_states()) {
    const std::int32_t parent = tree.parents()[at(node)];
    out.path_after = path_states_.data() + row * markov.rank();
    if (parent >= 0) out.path_before = path_states_.data() + row_of_node_[at(parent)] * markov.rank();
  }
  if (markov.has_confidence()) out.confidence = &confidences_[at(row)];
  return out;
}

float* DflashDrafter::latent(std::int32_t node) {
  return latents_.data() + row_of_node_[at(node)] * weights_.head.markov()->rank();
}

std::optional<float> DflashDrafter::confidence(std::int32_t node) const {
  const MarkovHead* markov = weights_.head.markov();
  if (markov == nullptr || !markov->has_confidence()) return std::nullopt;
  if (at(node) >= row_of_node_.size() || row_of_node_[at(node)] < 0) return std::nullopt;
  return confidences_[at(row_of_node_[at(node)])];
}

// --- The types
// -----------------------------------------------------------------------------------------------

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

std::unique_ptr<DrafterModel> load_dflash_drafter(const DrafterSource& source) {
  return std::make_unique<DflashModel>(source, false);
}

std::unique_ptr<DrafterModel> load_dspark_drafter(const DrafterSource& source) {
  return std::make_unique<DflashModel>(source, true);
}

}  // namespace augur
