#include "lab/vocabulary/acceptance_theory.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "base/buffer.h"
#include "vocab/vocabulary_head.h"

namespace augur {

Overlap overlap_of(std::span<const float> p, std::span<const TokenId> shortlist, std::span<const float> q) {
  Overlap out;
  for (const TokenId token : shortlist) out.covered += p[static_cast<std::size_t>(token)];
  for (std::size_t i = 0; i < shortlist.size(); ++i) {
    const double target = p[static_cast<std::size_t>(shortlist[i])];
    out.overlap += std::min(target, static_cast<double>(q[i]));
    if (out.covered > 0) out.tv_within += std::abs(target / out.covered - q[i]) / 2;
  }
  if (out.covered <= 0) out.tv_within = 1;
  out.bound = out.covered - out.tv_within;
  std::vector<float> sorted(p.begin(), p.end());
  const auto kept = static_cast<std::ptrdiff_t>(std::min(shortlist.size(), sorted.size()));
  std::nth_element(sorted.begin(), sorted.begin() + std::max<std::ptrdiff_t>(kept - 1, 0), sorted.end(),
                   std::greater<>());
  out.best = std::accumulate(sorted.begin(), sorted.begin() + kept, 0.0);
  return out;
}

double expected_length(std::span<const double> overlaps) {
  double sum = 0;
  double product = 1;
  for (const double a : overlaps) sum += product *= a;
  return sum;
}

namespace {

/// A row of the drafter's head at a place that the text went through.
struct Context {
  std::int64_t position = 0;  ///< of the newest token: the target's law follows from its row
  int step = 0;
  TokenId token = -1;
  std::vector<float> state;
  std::vector<float> previous;

  HeadRow row() const {
    return {.state = state.data(),
            .previous = previous.empty() ? nullptr : previous.data(),
            .token = token,
            .step = step};
  }
};

/// Follows one sequence at a time: the rows of a round are known before which of them the text reaches.
class ContextRecorder {
 public:
  HeadObserver observer() {
    return [this](const HeadWeights& weights, std::span<const HeadRow> rows, const VocabularyHead&) {
      weights_ = weights;
      const auto width = static_cast<std::size_t>(weights.matrix->k());
      for (const HeadRow& row : rows) {
        Context c{
            .step = row.step, .token = row.token, .state = {row.state, row.state + width}, .previous = {}};
        if (row.previous != nullptr) c.previous.assign(row.previous, row.previous + width);
        round_.push_back(std::move(c));
      }
    };
  }
  void end_round(const StepTrace& step) {
    const auto accepted = std::ssize(step.path) - 1;
    for (Context& c : round_) {
      if (c.step > accepted) continue;
      c.position = step.context + c.step;
      contexts_.push_back(std::move(c));
    }
    round_.clear();
    ++rounds_;
    accepted_ += accepted;
  }
  std::vector<Context> take() { return std::exchange(contexts_, {}); }
  const HeadWeights& weights() const { return weights_; }
  double mean_accepted() const {
    return rounds_ > 0 ? static_cast<double>(accepted_) / static_cast<double>(rounds_) : 0.0;
  }

 private:
  HeadWeights weights_;
  std::vector<Context> round_;
  std::vector<Context> contexts_;
  std::int64_t rounds_ = 0;
  std::int64_t accepted_ = 0;
};

/// The target's law after each of `positions` of a text. fn(index, law).
template <class Fn>
void target_laws(Model& target, std::span<const TokenId> text, std::span<const std::int64_t> positions,
                 const Fn& fn) {
  constexpr std::int64_t kChunk = 64;
  const std::int64_t vocab = target.config().vocab;
  const std::int64_t stride = (vocab + 15) / 16 * 16;
  Buffer<float> logits(static_cast<std::size_t>(kChunk * stride));
  std::vector<float> law(static_cast<std::size_t>(vocab));
  KvCache cache = target.make_cache(std::ssize(text));
  std::size_t next = 0;  // positions ascend
  for (std::int64_t first = 0; first < std::ssize(text); first += kChunk) {
    const std::int64_t count = std::min(kChunk, std::ssize(text) - first);
    KvTxn txn = cache.reserve(count);
    std::vector<std::int32_t> places(static_cast<std::size_t>(count));
    std::vector<std::int32_t> parents(static_cast<std::size_t>(count));
    std::iota(places.begin(), places.end(), static_cast<std::int32_t>(first));
    std::iota(parents.begin(), parents.end(), -1);
    const TokenBatch::Sequence sequence{.kv = &txn, .first_row = 0, .rows = static_cast<int>(count)};
    target.forward({.tokens = text.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
                    .positions = places,
                    .parents = parents,
                    .sequences = {&sequence, 1}});
    std::vector<std::int32_t> rows;
    const std::size_t begin = next;
    for (; next < positions.size() && positions[next] < first + count; ++next) {
      rows.push_back(static_cast<std::int32_t>(positions[next] - first));
    }
    if (!rows.empty()) {
      target.logits(rows, logits.data(), stride);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        softmax(logits.data() + static_cast<std::int64_t>(i) * stride, vocab, 1.0f, law.data());
        fn(begin + i, std::span<const float>(law));
      }
    }
    txn.commit_all();
  }
}

/// What one vocabulary would have proposed, context after context.
class Candidate {
 public:
  Candidate(const NamedVocabulary& from, const HeadWeights& weights, int levels)
      : head_(weights, from.choice),
        clusters_(from.choice->clusters()),
        sums_(static_cast<std::size_t>(levels)),
        counts_(static_cast<std::size_t>(levels)) {
    figures_.vocabulary = from.name;
  }

  void add(const Context& context, std::span<const float> p) {
    const HeadRow row = context.row();
    head_.run({&row, 1});
    const std::span<const float> logits = head_.logits(0);
    const std::span<const TokenId> ids = head_.target_ids();
    tokens_.resize(logits.size());
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      tokens_[i] = ids.empty() ? static_cast<TokenId>(i) : ids[i];
    q_.resize(logits.size());
    softmax(logits.data(), std::ssize(logits), 1.0f, q_.data());
    const Overlap one = overlap_of(p, tokens_, q_);
    Overlap& mean = figures_.mean;
    mean.overlap += one.overlap;
    mean.covered += one.covered;
    mean.tv_within += one.tv_within;
    mean.bound += one.bound;
    mean.best += one.best;
    figures_.tokens += static_cast<double>(tokens_.size());
    ++figures_.contexts;
    const auto step = std::min(static_cast<std::size_t>(context.step), sums_.size() - 1);
    sums_[step] += one.overlap;
    ++counts_[step];
    if (clusters_ != nullptr) figures_.best_clusters += best_clusters(p, context.step);
  }

  TheoryFigures finish() {
    const auto n = static_cast<double>(std::max<std::int64_t>(figures_.contexts, 1));
    for (double* sum :
         {&figures_.mean.overlap, &figures_.mean.covered, &figures_.mean.tv_within, &figures_.mean.bound,
          &figures_.mean.best, &figures_.tokens, &figures_.best_clusters}) {
      *sum /= n;
    }
    for (std::size_t s = 0; s < sums_.size() && counts_[s] > 0; ++s) {
      figures_.by_step.push_back(sums_[s] / static_cast<double>(counts_[s]));
    }
    figures_.expected_length = expected_length(figures_.by_step);
    return figures_;
  }

 private:
  double best_clusters(std::span<const float> p, int step) {
    mass_.assign(static_cast<std::size_t>(clusters_->clusters), 0.0f);
    for (std::size_t t = 0; t < p.size(); ++t)
      mass_[static_cast<std::size_t>(clusters_->cluster_of[t])] += p[t];
    const auto kept = std::min<std::int64_t>(clusters_->budget.at(step), std::ssize(mass_));
    std::partial_sort(mass_.begin(), mass_.begin() + kept, mass_.end(), std::greater<>());
    return std::accumulate(mass_.begin(), mass_.begin() + kept, 0.0);
  }

  VocabularyHead head_;
  const ClusterPart* clusters_;
  TheoryFigures figures_;
  std::vector<double> sums_;
  std::vector<std::int64_t> counts_;
  std::vector<TokenId> tokens_;
  std::vector<float> q_;
  std::vector<float> mass_;
};

}  // namespace

TheoryResult measure_theory(VocabularyBench& bench, std::span<const std::vector<TokenId>> prompts,
                            std::span<const NamedVocabulary> vocabularies, const TheoryOptions& options,
                            const std::function<bool(double)>& go_on) {
  ContextRecorder recorder;
  const VocabularyChoice watched(recorder.observer());
  const std::unique_ptr<DrafterModel> drafter = bench.load(watched);
  std::vector<Candidate> candidates;
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    VocabularyBench::Run how{.verification = Verification::Rejection, .max_tokens = options.max_tokens};
    how.sampling.temperature = 1.0f;
    how.sampling.seed = options.seed + p;
    how.tree = {.top_k = 1, .levels = options.levels, .size = options.levels + 1};
    how.on_step = [&](const Sequence&, const StepTrace& step) { recorder.end_round(step); };
    const VocabularyBench::Answers answer = bench.run(drafter.get(), prompts.subspan(p, 1), how);
    std::vector<TokenId> text = prompts[p];
    text.insert(text.end(), answer.tokens[0].begin(), answer.tokens[0].end());
    std::vector<Context> contexts = recorder.take();
    // The last round may have gone beyond the end of the text.
    std::erase_if(contexts, [&](const Context& c) { return c.position >= std::ssize(text); });
    std::stable_sort(contexts.begin(), contexts.end(),
                     [](const Context& a, const Context& b) { return a.position < b.position; });
    if (contexts.empty()) continue;
    if (candidates.empty()) {
      for (const NamedVocabulary& v : vocabularies)
        candidates.emplace_back(v, recorder.weights(), options.levels);
    }
    std::vector<std::int64_t> positions;
    for (const Context& c : contexts) positions.push_back(c.position);
    target_laws(bench.target(), text, positions, [&](std::size_t i, std::span<const float> law) {
      for (Candidate& candidate : candidates) candidate.add(contexts[i], law);
    });
    if (go_on && !go_on(static_cast<double>(p + 1) / static_cast<double>(prompts.size()))) break;
  }
  TheoryResult result;
  result.measured_length = recorder.mean_accepted();
  for (Candidate& candidate : candidates) result.figures.push_back(candidate.finish());
  return result;
}

}  // namespace augur
