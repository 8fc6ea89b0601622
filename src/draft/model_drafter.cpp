#include "draft/model_drafter.h"

#include <algorithm>

#include "base/error.h"
#include "draft/common/accepted_tokens.h"
#include "draft/registry.h"

namespace augur {
namespace {

/// Rows that one round's levels may take.
constexpr std::int64_t kLevelRows = 4096;

ModelDrafter& drafter_of(const ExpandJob& job) {
  return static_cast<ModelDrafter&>(*job.drafter);
}

}  // namespace

ModelDrafter::ModelDrafter(DraftWeights& weights, std::int64_t context)
    : weights_(weights),
      sequence_(weights.model->make_cache(std::min(context, weights.context))),
      tree_(kLevelRows) {}

void ModelDrafter::reset() {
  end_round();
  sequence_.reset();
  unusable_ = false;
}

void ModelDrafter::end_round() {
  sequence_.roll_back();
  tree_.clear();
}

void ModelDrafter::sync(const AcceptedRows& rows) {
  end_round();
  for (const TokenId token : rows.tokens) unusable_ = unusable_ || token >= weights_.model->config().vocab;
  const std::span<const TokenId> fresh = rows.tokens.subspan(known_rows(rows, sequence_.length()));
  if (rows.teaches_all) weights_.head.saw(fresh);
  for (const TokenId token : fresh) sequence_.append(token);
}

void ModelDrafter::expand(DraftTree& tree, std::span<const std::int32_t> frontier,
                          const ExpandOptions& options) {
  const ExpandJob job{this, &tree, frontier, options};
  expand_many({&job, 1});
}

bool ModelDrafter::run_chunk() {
  DraftWeights& w = weights_;
  const bool fits = sequence_.cache().room() > sequence_.waiting();
  if (unusable_ || !fits || !sequence_.has_chunk()) return false;
  w.batch.clear();
  sequence_.begin(w.batch, SequenceRows::kChunk);
  w.model->forward(w.batch.view());
  sequence_.commit();
  return true;
}

/// Rows of text that wait run in forwards of their own first where there are many, so that they do not make
/// the shared one longer.
void ModelDrafter::catch_up() {
  sequence_.roll_back();  // of a forward that failed
  while (run_chunk()) {
  }
}

/// Adds the rows that wait and the root's, which are part of the text whatever becomes of the drafts. Nothing
/// where the context ends, or with a token that the draft model does not know.
void ModelDrafter::add_root(const ExpandJob& job, std::size_t index) {
  DraftWeights& w = weights_;
  end_round();
  const TokenId root = job.tree->tokens()[0];
  const bool drafted_before = sequence_.length() > job.tree->root_position();
  if (unusable_ || root >= w.model->config().vocab) return;
  if (drafted_before && sequence_.waiting() == 0) sequence_.rewind();
  if (sequence_.cache().room() < sequence_.waiting() + (drafted_before ? 0 : 1)) return;
  if (!drafted_before) sequence_.append(root);
  const auto rows = static_cast<int>(sequence_.waiting());
  const int first = sequence_.begin(w.batch, rows);
  w.candidates.want(index, DraftTree::kRoot, first + rows - 1);
}

void ModelDrafter::add_level(const ExpandJob& job, std::size_t index) {
  DraftWeights& w = weights_;
  if (sequence_.waiting() > 0 || sequence_.length() != job.tree->root_position() + 1)
    return;  // the root has not run
  tree_.add_level(sequence_.cache(), *job.tree, job.frontier, w.batch);
  for (const std::int32_t node : job.frontier) {
    if (const int row = tree_.batch_row(node); row >= 0) w.candidates.want(index, node, row);
  }
}

void ModelDrafter::expand_many(std::span<const ExpandJob> jobs) {
  DraftWeights& w = weights_;
  for (const ExpandJob& job : jobs) drafter_of(job).catch_up();
  w.batch.clear();
  w.candidates.begin(jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const ExpandJob& job = jobs[i];
    if (job.frontier.empty() || job.options.max_nodes <= 0) continue;
    if (job.frontier.front() == DraftTree::kRoot) {
      drafter_of(job).add_root(job, i);
    } else {
      drafter_of(job).add_level(job, i);
    }
  }
  if (w.batch.empty()) return;
  w.model->forward(w.batch.view());
  const float* results = w.model->result().data();
  for (const ExpandJob& job : jobs) {
    if (drafter_of(job).sequence_.in_flight() > 0) drafter_of(job).sequence_.commit();
  }
  const auto hidden = static_cast<std::size_t>(w.model->config().hidden);
  w.states.resize(w.candidates.size() * hidden);
  for (std::size_t i = 0; i < w.candidates.size(); ++i) {
    const int row = w.candidates.rows()[i];
    w.candidates.head_rows()[i].state = w.model->result_row(row);
    if (!w.candidates.wants_state(i)) continue;
    const std::span<float> state = std::span(w.states).subspan(i * hidden, hidden);
    w.model->final_norm(results + static_cast<std::size_t>(row) * hidden, 1, state.data());
    w.candidates.set_state(i, state);
  }
  w.candidates.add_children(w.head);
}

void require_same_vocabulary(const Tokenizer& target, const std::string& target_path, const Tokenizer& draft,
                             const std::string& draft_path) {
  if (target.vocab_size() != draft.vocab_size()) {
    throw Error(refused("draft_model"),
                "draft model {} has another vocabulary than {}: {} tokens, expected {}", draft_path,
                target_path, draft.vocab_size(), target.vocab_size());
  }
  for (TokenId id = 0; id < target.vocab_size(); ++id) {
    const std::string theirs = draft.token_bytes(id);
    const std::string ours = target.token_bytes(id);
    if (theirs != ours) {
      throw Error(refused("draft_model"),
                  "draft model {} has another vocabulary than {}: token {} is '{}', expected '{}'",
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
  void forget_learnt() override { weights_->head.forget(); }

 private:
  std::unique_ptr<DraftWeights> weights_;
};

}  // namespace

std::unique_ptr<DrafterModel> load_model_drafter(const DrafterSource& source) {
  const std::string path = source.head->path().string();
  require_same_vocabulary(source.tokenizer, source.target_path, *source.head->load_tokenizer(), path);
  auto weights = std::make_unique<DraftWeights>();
  // A draft model of a shorter context is fine: it falls silent where its context ends.
  weights->model =
      Model::load(source.backend, *source.head,
                  {.form = source.form, .progress = source.progress, .device = &source.target.device()});
  weights->context = std::min(weights->model->context(), source.context);
  HeadWeights head = head_of(*weights->model);
  head.usable = std::min(head.usable, std::int64_t{source.target.config().vocab});
  weights->head = VocabularyHead(head, source.vocabulary);
  return std::make_unique<DraftModel>(std::move(weights));
}

}  // namespace augur
