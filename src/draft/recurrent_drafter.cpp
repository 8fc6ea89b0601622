#include "draft/recurrent_drafter.h"

#include <algorithm>
#include <cassert>

#include "base/error.h"
#include "draft/usual_sizes.h"

namespace augur {
namespace {

/// Waiting rows beyond this many run in a forward of their own.
constexpr std::size_t kChunk = 256;
/// Rows that one round's levels may take.
constexpr std::int64_t kLevelRows = 4096;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

// --- One forward over all jobs -----------------------------------------------------------------------------

RecurrentWeights::RecurrentWeights(std::unique_ptr<RecurrentHead> with, const VocabularyChoice* vocabulary)
    : head(std::move(with)) {
  if (vocabulary != nullptr && vocabulary->dynamic() && head->shape().placeholders > 0) {
    throw Error(
        "draft vocabulary: {} with placeholders keeps the logits of one pass for all depths, and clusters "
        "change "
        "from pass to pass; use frspec, pafr or hot",
        head->name());
  }
  HeadWeights weights = head->exit();
  weights.target_ids = head->shape().target_ids;
  weights.usable = head->shape().vocab;
  exit = VocabularyHead(weights, vocabulary);
}

void RecurrentWeights::clear() {
  tokens.clear();
  positions.clear();
  parents.clear();
  sequences.clear();
  features.clear();
  feature_runs.clear();
  states.clear();
  logit_rows.clear();
  head_rows.clear();
}

void RecurrentWeights::want_logits(int row, int step, float weight) {
  logit_rows.push_back(row);
  head_rows.push_back({.step = step, .sequence = static_cast<int>(sequences.size()), .weight = weight});
}

void RecurrentWeights::run(int want_best) {
  const RecurrentHead::Shape& shape = head->shape();
  if (!feature_runs.empty()) {
    const auto count = features.size() / at(shape.features);
    projected_.reserve(states.capacity());
    projected_.resize(count * at(shape.state));
    head->project(features.data(), static_cast<int>(count), projected_.data());
    auto from = projected_.begin();
    for (const FeatureRun& r : feature_runs) {
      const auto to = states.begin() + static_cast<std::ptrdiff_t>(r.first_row * shape.state);
      std::copy_n(from, r.rows * shape.state, to);
      from += static_cast<std::ptrdiff_t>(r.rows * shape.state);
    }
  }
  results = head->run({.tokens = tokens, .positions = positions, .parents = parents, .sequences = sequences},
                      states.data());
  for (std::size_t i = 0; i < logit_rows.size(); ++i) {
    const int row = logit_rows[i];
    head_rows[i].state = head->exit_row(row);
    head_rows[i].previous = states.data() + row * shape.state;
    head_rows[i].token = tokens[at(row)];
  }
  best = want_best;
  exit.run(head_rows, best);
}

// --- One sequence
// --------------------------------------------------------------------------------------------

RecurrentDrafter::RecurrentDrafter(RecurrentWeights& weights, std::int64_t context)
    : weights_(weights), cache_(weights.head->make_cache(context)) {
  const RecurrentHead::Shape& shape = weights.head->shape();
  pending_tokens_.reserve(kUsualPath);
  pending_features_.reserve(kUsualPath * at(shape.features));
  weights_.features.reserve(kUsualPath * at(shape.features));
  weights_.states.reserve(kUsualPath * at(shape.state));
  for (auto* rows : {&weights_.tokens, &weights_.positions, &weights_.parents}) rows->reserve(kUsualPath);
  for (auto* nodes : {&level_parents_, &row_of_node_}) nodes->reserve(kUsualTree);
}

DrafterTraits RecurrentDrafter::traits() const {
  DrafterTraits traits;
  if (const int placeholders = weights_.head->shape().placeholders; placeholders > 0) {
    traits.max_depth = placeholders + 1;
  }
  return traits;
}

void RecurrentDrafter::reset() {
  end_round();
  cache_.truncate(0);
  pending_tokens_.clear();
  pending_features_.clear();
  last_token_ = -1;
}

void RecurrentDrafter::end_round() {
  txn_.reset();
  level_parents_.clear();
  level_states_.clear();
  row_of_node_.clear();
}

void RecurrentDrafter::sync(const AcceptedRows& rows) {
  assert(!txn_);
  const std::int64_t known = cache_.length() + std::ssize(pending_tokens_) - rows.first_position;
  assert(known >= 0 && "a gap in the accepted rows");
  const auto width = static_cast<std::size_t>(weights_.head->shape().features);
  if (known < std::ssize(rows.tokens)) weights_.exit.saw(rows.tokens.subspan(at(known)));
  for (auto i = at(std::min<std::int64_t>(known, std::ssize(rows.tokens))); i < rows.tokens.size(); ++i) {
    pending_tokens_.push_back(i + 1 < rows.tokens.size() ? rows.tokens[i + 1] : rows.next);
    const float* features = rows.features + i * width;
    pending_features_.insert(pending_features_.end(), features, features + width);
  }
  // Only the last rows of a long prompt wait.
  while (pending_tokens_.size() > kChunk && cache_.room() >= static_cast<std::int64_t>(kChunk)) {
    run_pending_chunk();
  }
}

void RecurrentDrafter::drop_pending(std::size_t count) {
  const auto width = static_cast<std::ptrdiff_t>(weights_.head->shape().features);
  const auto rows = static_cast<std::ptrdiff_t>(count);
  last_token_ = pending_tokens_[count - 1];
  last_features_.assign(pending_features_.begin() + (rows - 1) * width,
                        pending_features_.begin() + rows * width);
  pending_tokens_.erase(pending_tokens_.begin(), pending_tokens_.begin() + rows);
  pending_features_.erase(pending_features_.begin(), pending_features_.begin() + rows * width);
}

/// Adds the first `count` waiting rows to the forward, to be kept.
void RecurrentDrafter::add_text_rows(std::size_t count) {
  RecurrentWeights& w = weights_;
  const RecurrentHead::Shape& shape = w.head->shape();
  const auto first = static_cast<int>(w.tokens.size());
  for (std::size_t i = 0; i < count; ++i) {
    w.tokens.push_back(pending_tokens_[i]);
    w.positions.push_back(static_cast<std::int32_t>(cache_.length() + static_cast<std::int64_t>(i)));
    w.parents.push_back(i == 0 ? -1 : first + static_cast<std::int32_t>(i) - 1);
  }
  w.features.insert(w.features.end(), pending_features_.begin(),
                    pending_features_.begin() + static_cast<std::ptrdiff_t>(count * at(shape.features)));
  w.feature_runs.push_back({first, static_cast<int>(count)});
  w.states.resize(w.tokens.size() * at(shape.state));
}

void RecurrentDrafter::run_pending_chunk() {
  weights_.clear();
  KvTxn txn = cache_.reserve(kChunk);
  add_text_rows(kChunk);
  weights_.sequences.push_back({.kv = &txn, .first_row = 0, .rows = kChunk});
  weights_.run();
  txn.commit_all();
  drop_pending(kChunk);
}

void RecurrentDrafter::expand(DraftTree& tree, std::span<const std::int32_t> frontier,
                              const ExpandOptions& options) {
  const ExpandJob job{this, &tree, frontier, options};
  expand_many({&job, 1});
}

/// Lists what has to run for the job. Nothing when the head has no states to start from (a text of one
/// token) or no room left.
void RecurrentDrafter::plan(const ExpandJob& job) {
  todo_.clear();
  budget_ = ChildBudget(job.options);
  const std::int64_t root = job.tree->root_position();
  if (job.frontier.empty() || budget_.spent() || root == 0) return;
  if (cache_.length() + std::ssize(pending_tokens_) != root) return;
  const bool root_wanted = job.frontier.front() == DraftTree::kRoot;
  if (root_wanted && pending_tokens_.empty()) {  // drafting anew from the same root
    end_round();
    cache_.truncate(root - 1);
    pending_tokens_.push_back(last_token_);
    pending_features_ = last_features_;
  }
  if (!pending_tokens_.empty()) {
    const std::int64_t needed = std::ssize(pending_tokens_) + weights_.head->shape().placeholders;
    if (cache_.room() < needed) return;
    todo_.push_back({DraftTree::kRoot, root_wanted});
  }
  if (root_wanted) return;
  row_of_node_.resize(at(job.tree->size()), -1);
  for (const std::int32_t node : job.frontier) {
    const auto listed = [&](std::int32_t n) {
      return std::any_of(todo_.begin(), todo_.end(), [&](const Todo& t) { return t.node == n; });
    };
    const auto first = static_cast<std::ptrdiff_t>(todo_.size());
    todo_.push_back({node, true});
    if (weights_.head->shape().placeholders > 0) continue;
    // Ancestors that other drafters proposed have not been run here yet.
    for (std::int32_t n = job.tree->parents()[at(node)]; n != DraftTree::kRoot && !has_run(n) && !listed(n);
         n = job.tree->parents()[at(n)]) {
      todo_.insert(todo_.begin() + first, Todo{n, false});
    }
  }
}

/// Moves what can run now from todo_ to running_ and adds its rows to the forward.
void RecurrentDrafter::add_rows(const ExpandJob& job) {
  RecurrentWeights& w = weights_;
  running_.clear();
  first_row_ = static_cast<int>(w.tokens.size());
  first_logit_ = w.logit_rows.size();
  if (!todo_.empty() && todo_.front().node == DraftTree::kRoot) {
    add_root(todo_.front().wanted);
  } else if (w.head->shape().placeholders > 0) {
    running_.swap(todo_);  // the root's pass had them all
  } else {
    add_level(*job.tree);
  }
  rows_ = static_cast<int>(w.tokens.size()) - first_row_;
  if (rows_ == 0) return;
  const bool levels = !level_parents_.empty();
  w.sequences.push_back({.kv = &*txn_,
                         .first_row = first_row_,
                         .rows = rows_,
                         .earlier_rows = levels ? static_cast<int>(level_parents_.size()) - rows_ : 0,
                         .earlier_parents = level_parents_.data()});
}

void RecurrentDrafter::add_root(bool wanted) {
  RecurrentWeights& w = weights_;
  const RecurrentHead::Shape& shape = w.head->shape();
  txn_.emplace(cache_.reserve(std::ssize(pending_tokens_) + shape.placeholders));
  add_text_rows(pending_tokens_.size());
  running_.push_back(todo_.front());
  todo_.erase(todo_.begin());
  if (wanted || shape.placeholders > 0) w.want_logits(static_cast<int>(w.tokens.size()) - 1, 0);
  for (int i = 0; i < shape.placeholders; ++i) {
    w.parents.push_back(static_cast<std::int32_t>(w.tokens.size()) - 1);
    w.positions.push_back(w.positions.back() + 1);
    w.want_logits(static_cast<int>(w.tokens.size()), i + 1);
    w.tokens.push_back(shape.placeholder_token);
    const std::span<const float> state = w.head->placeholder_state();
    w.states.insert(w.states.end(), state.begin(), state.end());
  }
}

void RecurrentDrafter::add_level(const DraftTree& tree) {
  RecurrentWeights& w = weights_;
  const std::int64_t width = w.head->shape().state;
  const auto earlier = static_cast<std::int32_t>(level_parents_.size());
  const auto ready = [&](const Todo& todo) {
    const std::int32_t parent = tree.parents()[at(todo.node)];
    return parent == DraftTree::kRoot || (has_run(parent) && row_of_node_[at(parent)] < earlier);
  };
  if (!todo_.empty() && !txn_) txn_.emplace(cache_.reserve(std::min(cache_.room(), kLevelRows)));
  for (const Todo& todo : todo_) {
    if (!ready(todo) || has_run(todo.node) || std::ssize(level_parents_) == txn_->rows()) continue;
    const std::int32_t parent = tree.parents()[at(todo.node)];
    const std::int32_t parent_row = parent == DraftTree::kRoot ? -1 : row_of_node_[at(parent)];
    row_of_node_[at(todo.node)] = static_cast<std::int32_t>(level_parents_.size());
    level_parents_.push_back(parent_row);
    if (todo.wanted) {
      w.want_logits(static_cast<int>(w.tokens.size()), tree.depths()[at(todo.node)],
                    path_weight(tree, todo.node));
    }
    w.parents.push_back(parent_row < 0 ? -1 : -2 - parent_row);
    w.tokens.push_back(tree.tokens()[at(todo.node)]);
    w.positions.push_back(static_cast<std::int32_t>(tree.root_position()) - 1 + tree.depths()[at(todo.node)]);
    const float* state =
        parent_row < 0 ? root_state_.data() : level_states_.data() + std::int64_t{parent_row} * width;
    w.states.insert(w.states.end(), state, state + width);
    running_.push_back(todo);
  }
  std::erase_if(todo_, [&](const Todo& todo) { return has_run(todo.node); });
}

/// Keeps what the rows gave, and offers the logits of wanted nodes for children.
void RecurrentDrafter::take_results(const ExpandJob& job) {
  RecurrentWeights& w = weights_;
  const RecurrentHead::Shape& shape = w.head->shape();
  const auto placeholders = at(shape.placeholders);
  const auto result = [&](int row) {
    return w.results.begin() + static_cast<std::ptrdiff_t>(row * shape.state);
  };
  std::size_t logit = first_logit_;
  if (rows_ > 0 && running_.front().node == DraftTree::kRoot) {
    const auto kept = static_cast<int>(pending_tokens_.size());
    txn_->commit_prefix(kept);
    txn_.reset();
    drop_pending(at(kept));
    root_state_.assign(result(first_row_ + kept - 1), result(first_row_ + kept));
    if (running_.front().wanted) offer(job, DraftTree::kRoot, logit);
    placeholder_states_.assign(result(first_row_ + kept), result(first_row_ + rows_));
    placeholder_logits_.resize(placeholders);
    for (std::size_t i = 0; i < placeholders; ++i) {
      const std::span<const float> row = w.exit.logits(logit + 1 + i);
      placeholder_logits_[i].assign(row.begin(), row.end());
    }
    return;
  }
  if (placeholders > 0) {
    for (const Todo& todo : running_) {
      const auto depth = at(job.tree->depths()[at(todo.node)]);
      if (depth > placeholders) continue;
      row_of_node_[at(todo.node)] = static_cast<std::int32_t>(depth - 1);
      offer(job, todo.node, placeholder_logits_[depth - 1]);
    }
    return;
  }
  level_states_.insert(level_states_.end(), result(first_row_), result(first_row_ + rows_));
  for (const Todo& todo : running_) {
    if (todo.wanted) offer(job, todo.node, logit++);
  }
}

void RecurrentDrafter::offer(const ExpandJob& job, std::int32_t node, std::size_t row) {
  if (budget_.spent()) return;
  RecurrentWeights& w = weights_;
  w.nodes.push_back({job.tree, node, &job.options, budget_.take(w.exit.count(row)), {}, state(node)});
  set_logits(w.nodes.back(), w.exit, row, w.best);
}

/// Of a slot that was run with the root.
void RecurrentDrafter::offer(const ExpandJob& job, std::int32_t node, std::span<const float> logits) {
  if (budget_.spent()) return;
  weights_.nodes.push_back(
      {job.tree, node, &job.options, budget_.take(std::ssize(logits)), logits, state(node)});
}

void RecurrentDrafter::expand_many(std::span<const ExpandJob> jobs) {
  RecurrentWeights& w = weights_;
  const auto of = [](const ExpandJob& job) -> RecurrentDrafter& {
    return static_cast<RecurrentDrafter&>(*job.drafter);
  };
  for (const ExpandJob& job : jobs) of(job).plan(job);
  // Once, unless ancestors have to run before their descendants.
  for (;;) {
    w.clear();
    w.nodes.clear();
    bool any = false;
    for (const ExpandJob& job : jobs) {
      of(job).add_rows(job);
      any = any || !of(job).running_.empty();
    }
    if (!any) return;
    // Logits of placeholders outlive the run.
    if (!w.tokens.empty()) w.run(w.head->shape().placeholders > 0 ? 0 : best_wanted(jobs));
    for (const ExpandJob& job : jobs) of(job).take_results(job);
    w.chooser.add_children(w.head->backend().pool, w.nodes, w.exit.target_ids());
  }
}

std::span<const float> RecurrentDrafter::state(std::int32_t node) const {
  if (node == DraftTree::kRoot) return root_state_;
  if (!has_run(node)) return {};
  const auto width = at(weights_.head->shape().state);
  const bool placeholder = weights_.head->shape().placeholders > 0;
  return std::span<const float>(placeholder ? placeholder_states_ : level_states_)
      .subspan(at(row_of_node_[at(node)]) * width, width);
}

// --- The type
// --------------------------------------------------------------------------------------------------

namespace {

class RecurrentModel final : public DrafterModel {
 public:
  RecurrentModel(std::unique_ptr<RecurrentHead> head, const VocabularyChoice* vocabulary)
      : weights_(std::make_unique<RecurrentWeights>(std::move(head), vocabulary)) {}
  std::unique_ptr<Drafter> make(const DrafterSettings& settings) const override {
    return std::make_unique<RecurrentDrafter>(*weights_, settings.context);
  }

 private:
  std::unique_ptr<RecurrentWeights> weights_;
};

}  // namespace

std::unique_ptr<DrafterModel> make_recurrent_model(std::unique_ptr<RecurrentHead> head,
                                                   const VocabularyChoice* vocabulary) {
  return std::make_unique<RecurrentModel>(std::move(head), vocabulary);
}

}  // namespace augur
