#include "draft/model_drafter.h"

#include <algorithm>
#include <cassert>

#include "base/error.h"
#include "draft/child_budget.h"
#include "draft/registry.h"
#include "draft/usual_sizes.h"

namespace augur {
namespace {

/// More waiting tokens than this run in chunks of their own before the round's forward.
constexpr std::size_t kChunk = 256;

std::size_t at(std::int32_t node) {
  return static_cast<std::size_t>(node);
}

std::span<const float> run_forward(DraftWeights& w) {
  return w.model->forward(
      {.tokens = w.tokens, .positions = w.positions, .parents = w.parents, .sequences = w.sequences});
}

/// The normed states of the rows whose logits are asked for.
void keep_states(DraftWeights& w, std::span<const float> results) {
  const auto hidden = static_cast<std::size_t>(w.model->config().hidden);
  w.states.resize(w.result_rows.size() * hidden);
  for (std::size_t i = 0; i < w.result_rows.size(); ++i) {
    w.model->final_norm(results.data() + at(w.result_rows[i]) * hidden, 1, w.states.data() + i * hidden);
  }
}

std::span<const float> state_row(const DraftWeights& w, std::size_t row) {
  const auto hidden = static_cast<std::size_t>(w.model->config().hidden);
  return std::span(w.states).subspan(row * hidden, hidden);
}

void clear_batch(DraftWeights& w) {
  w.tokens.clear();
  w.positions.clear();
  w.parents.clear();
  w.sequences.clear();
  w.head_rows.clear();
  w.result_rows.clear();
}

}  // namespace

ModelDrafter::ModelDrafter(DraftWeights& weights, std::int64_t context)
    : weights_(weights), cache_(weights.model->make_cache(std::min(context, weights.context))) {
  pending_.reserve(kUsualPath);
  for (auto* rows : {&weights_.tokens, &weights_.positions, &weights_.parents}) rows->reserve(kUsualPath);
  for (auto* nodes : {&level_parents_, &row_of_node_, &expanded_, &missing_}) nodes->reserve(kUsualTree);
}

void ModelDrafter::reset() {
  end_round();
  cache_.truncate(0);
  pending_.clear();
  unusable_ = false;
}

void ModelDrafter::end_round() {
  level_.reset();
  level_parents_.clear();
  row_of_node_.clear();
}

void ModelDrafter::sync(const AcceptedRows& rows) {
  assert(!level_);
  const std::int64_t known = cache_.length() + std::ssize(pending_) - rows.first_position;
  assert(known >= 0 && "a gap in the accepted rows");
  const auto skip = static_cast<std::size_t>(std::min<std::int64_t>(known, std::ssize(rows.tokens)));
  weights_.head.saw(rows.tokens.subspan(skip));
  for (const TokenId token : rows.tokens.subspan(skip)) {
    unusable_ = unusable_ || token >= weights_.model->config().vocab;
    pending_.push_back(token);
  }
}

void ModelDrafter::expand(DraftTree& tree, std::span<const std::int32_t> frontier,
                          const ExpandOptions& options) {
  const ExpandJob job{this, &tree, frontier, options};
  expand_many({&job, 1});
}

void ModelDrafter::catch_up(std::size_t leave) {
  DraftWeights& w = weights_;
  std::size_t done = 0;
  while (pending_.size() - done > leave) {
    const std::size_t count = std::min(kChunk, pending_.size() - done - leave);
    KvTxn txn = cache_.reserve(static_cast<std::int64_t>(count));
    clear_batch(w);
    for (std::size_t i = 0; i < count; ++i) {
      w.tokens.push_back(pending_[done + i]);
      w.positions.push_back(static_cast<std::int32_t>(txn.base() + static_cast<std::int64_t>(i)));
      w.parents.push_back(static_cast<std::int32_t>(i) - 1);
    }
    w.sequences.push_back({.kv = &txn, .first_row = 0, .rows = static_cast<int>(count)});
    run_forward(w);
    txn.commit_all();
    done += count;
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(done));
}

/// Of row `row` of the forward that is being collected: those of the children of a node of depth `step`.
void ModelDrafter::want_logits(int row, const DraftTree& tree, std::int32_t node) {
  weights_.result_rows.push_back(row);
  weights_.head_rows.push_back({.token = weights_.tokens[at(row)],
                                .step = tree.depths()[at(node)],
                                .sequence = static_cast<int>(weights_.sequences.size()),
                                .weight = path_weight(tree, node)});
}

ModelDrafter::Part ModelDrafter::add_root_rows(const ExpandJob& job) {
  DraftWeights& w = weights_;
  Part part{.first_row = static_cast<int>(w.tokens.size()), .root = true};
  const TokenId root = job.tree->tokens()[0];
  assert(cache_.length() + std::ssize(pending_) == job.tree->root_position());
  pending_.push_back(root);
  // Every row of this forward is part of the text, whatever becomes of the drafts.
  level_.emplace(cache_.reserve(std::ssize(pending_)));
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    w.tokens.push_back(pending_[i]);
    w.positions.push_back(static_cast<std::int32_t>(level_->base() + static_cast<std::int64_t>(i)));
    w.parents.push_back(i == 0 ? -1 : static_cast<std::int32_t>(w.tokens.size()) - 2);
  }
  part.rows = static_cast<int>(pending_.size());
  want_logits(static_cast<int>(w.tokens.size()) - 1, *job.tree, DraftTree::kRoot);
  expanded_.push_back(DraftTree::kRoot);
  return part;
}

ModelDrafter::Part ModelDrafter::add_level_rows(const ExpandJob& job) {
  DraftWeights& w = weights_;
  const DraftTree& tree = *job.tree;
  if (!level_) level_.emplace(cache_.reserve(cache_.room()));
  row_of_node_.resize(at(tree.size()), -1);
  const auto earlier = static_cast<std::int32_t>(level_parents_.size());
  Part part{.first_row = static_cast<int>(w.tokens.size())};
  for (const std::int32_t node : job.frontier) {
    // Ancestors that other drafters proposed have not been run here yet.
    missing_.clear();
    for (std::int32_t n = node; n != DraftTree::kRoot && row_of_node_[at(n)] < 0; n = tree.parents()[at(n)]) {
      missing_.push_back(n);
    }
    if (std::ssize(level_parents_) + std::ssize(missing_) > level_->rows()) break;
    for (auto n = missing_.rbegin(); n != missing_.rend(); ++n) {
      const std::int32_t parent = tree.parents()[at(*n)];
      const std::int32_t parent_row = parent == DraftTree::kRoot ? -1 : row_of_node_[at(parent)];
      row_of_node_[at(*n)] = static_cast<std::int32_t>(level_parents_.size());
      level_parents_.push_back(parent_row);
      w.tokens.push_back(tree.tokens()[at(*n)]);
      w.positions.push_back(static_cast<std::int32_t>(tree.root_position()) + tree.depths()[at(*n)]);
      const bool in_batch = parent_row >= earlier;
      w.parents.push_back(parent_row < 0 ? -1
                          : in_batch     ? part.first_row + (parent_row - earlier)
                                         : -2 - parent_row);
    }
    const std::int32_t row = row_of_node_[at(node)];
    if (row < earlier) continue;  // asked for twice
    want_logits(part.first_row + (row - earlier), tree, node);
    expanded_.push_back(node);
  }
  part.rows = static_cast<int>(w.tokens.size()) - part.first_row;
  return part;
}

void ModelDrafter::expand_many(std::span<const ExpandJob> jobs) {
  DraftWeights& w = weights_;
  // Long arrears first, so that their forwards do not disturb the shared batch.
  for (const ExpandJob& job : jobs) {
    auto& self = static_cast<ModelDrafter&>(*job.drafter);
    const bool fits = self.cache_.room() > std::ssize(self.pending_);
    if (!self.unusable_ && fits && self.pending_.size() > kChunk) self.catch_up(1);
  }
  clear_batch(w);
  std::vector<Part>& parts = parts_;
  parts.assign(jobs.size(), {});
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const ExpandJob& job = jobs[i];
    auto& self = static_cast<ModelDrafter&>(*job.drafter);
    self.expanded_.clear();
    if (self.unusable_ || job.frontier.empty() || job.options.max_nodes <= 0) continue;
    const bool root = job.frontier.front() == DraftTree::kRoot;
    // Drafting anew from the same root: it has been run before.
    if (root && self.cache_.length() > job.tree->root_position())
      self.cache_.truncate(job.tree->root_position());
    const TokenId newest = job.tree->tokens()[0];
    if (newest >= w.model->config().vocab) continue;
    if (root && self.cache_.room() <= std::ssize(self.pending_)) continue;  // its context is full
    const auto first_logit = static_cast<int>(w.head_rows.size());
    parts[i] = root ? self.add_root_rows(job) : self.add_level_rows(job);
    parts[i].first_logit = first_logit;
    if (parts[i].rows == 0) continue;
    const auto earlier = root ? 0 : static_cast<int>(self.level_parents_.size()) - parts[i].rows;
    w.sequences.push_back({.kv = &*self.level_,
                           .first_row = parts[i].first_row,
                           .rows = parts[i].rows,
                           .earlier_rows = earlier,
                           .earlier_parents = self.level_parents_.data()});
  }
  if (w.tokens.empty()) return;
  const std::span<const float> results = run_forward(w);
  if (std::any_of(jobs.begin(), jobs.end(), [](const ExpandJob& j) { return j.options.wants.hidden; })) {
    keep_states(w, results);
  }
  for (std::size_t i = 0; i < w.head_rows.size(); ++i) {
    w.head_rows[i].state = w.model->result_row(w.result_rows[i]);
  }
  const int best = best_wanted(jobs);
  w.head.run(w.head_rows, best);
  w.rows_with_logits.clear();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const ExpandJob& job = jobs[i];
    auto& self = static_cast<ModelDrafter&>(*job.drafter);
    if (parts[i].rows == 0) continue;
    if (parts[i].root) {
      self.level_->commit_all();
      self.level_.reset();
      self.pending_.clear();
    }
    ChildBudget budget(job.options);
    for (std::size_t e = 0; e < self.expanded_.size(); ++e) {
      const std::size_t row = static_cast<std::size_t>(parts[i].first_logit) + e;
      w.rows_with_logits.push_back(
          {job.tree, self.expanded_[e], &job.options, budget.take(w.head.count(row)), {}, {}});
      set_logits(w.rows_with_logits.back(), w.head, row, best);
      if (job.options.wants.hidden) w.rows_with_logits.back().state = state_row(w, row);
    }
  }
  w.chooser.add_children(w.model->backend().pool, w.rows_with_logits, w.head.target_ids());
}

void require_same_vocabulary(const Tokenizer& target, const std::string& target_path, const Tokenizer& draft,
                             const std::string& draft_path) {
  if (target.vocab_size() != draft.vocab_size()) {
    throw Error("draft model {} has another vocabulary than {}: {} tokens, expected {}", draft_path,
                target_path, draft.vocab_size(), target.vocab_size());
  }
  for (TokenId id = 0; id < target.vocab_size(); ++id) {
    const std::string theirs = draft.token_bytes(id);
    const std::string ours = target.token_bytes(id);
    if (theirs != ours) {
      throw Error("draft model {} has another vocabulary than {}: token {} is '{}', expected '{}'",
                  draft_path, target_path, id, theirs, ours);
    }
  }
}

namespace {

class DraftModel final : public DrafterModel {
 public:
  explicit DraftModel(std::unique_ptr<DraftWeights> weights) : weights_(std::move(weights)) {}
  std::unique_ptr<Drafter> make(const DrafterSettings& settings) const override {
    return std::make_unique<ModelDrafter>(*weights_, settings.context);
  }

 private:
  std::unique_ptr<DraftWeights> weights_;
};

}  // namespace

std::unique_ptr<DrafterModel> load_model_drafter(const DrafterSource& source) {
  const std::string path = source.head->path().string();
  require_same_vocabulary(source.tokenizer, source.target_path, *source.head->load_tokenizer(), path);
  auto weights = std::make_unique<DraftWeights>();
  // A draft model of a shorter context is fine: it falls silent where its context ends.
  weights->model = Model::load(source.backend, *source.head, {.progress = source.progress});
  weights->context = std::min(weights->model->context(), source.context);
  HeadWeights head = head_of(*weights->model);
  head.usable = std::min(head.usable, std::int64_t{source.target.config().vocab});
  weights->head = VocabularyHead(head, source.vocabulary);
  return std::make_unique<DraftModel>(std::move(weights));
}

}  // namespace augur
