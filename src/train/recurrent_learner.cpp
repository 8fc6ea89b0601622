#include "train/recurrent_learner.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "train/vocabulary_loss.h"

namespace augur {

RecurrentLearner::RecurrentLearner(const TorchLlama& target, DraftVocabulary vocabulary,
                                   const UnrollOptions& options)
    : target_(target),
      vocabulary_(vocabulary.on(target.device())),
      options_(options),
      rope_(make_rope_table(target.config().rope, target.config().head_dim, target.config().max_context)),
      target_head_(vocabulary_.rows(target.head())) {
  options_.evaluated = std::max(options_.evaluated, options_.steps);
}

/// The steps of one sequence; keys and values of earlier steps.
class RecurrentLearner::Unrolled {
 public:
  Unrolled(const RecurrentLearner& learner, const Lesson& lesson, torch::Tensor states)
      : learner_(learner), lesson_(lesson), state_(std::move(states)) {}

  /// What leaves the layer in the next step, for rows 0..rows-1. [rows, hidden]
  torch::Tensor next(std::int64_t rows) {
    const ModelConfig& c = learner_.shape();
    const torch::Tensor embedded = lesson_.embedded.slice(0, 1 + step_, 1 + step_ + rows);
    const Entrance in = learner_.enter(state_.slice(0, 0, rows), embedded);
    const Attended now = project(learner_.layer_, c, in.attention,
                                 make_rotation(learner_.rope_, step_, rows, in.attention.device()));
    const torch::Tensor mixed = step_ == 0 ? attend_text(now) : attend_all(now, rows);
    const torch::Tensor out =
        feed_forward(learner_.layer_, c, in.residual + attention_output(learner_.layer_, mixed));
    state_ = learner_.next_state(out);
    ++step_;
    return out;
  }

 private:
  torch::Tensor attend_text(const Attended& now) {
    first_ = now;
    mask_ = causal_mask(now.k.size(1), now.k.device());
    const torch::Tensor p = attention_scores(now.q, now.k).add_(mask_).softmax(-1);
    return torch::bmm(p.to(torch::kBFloat16), now.v);
  }

  torch::Tensor attend_all(const Attended& now, std::int64_t rows) {
    later_.push_back(now);
    std::vector<torch::Tensor> scores = {
        attention_scores(now.q, first_.k.slice(1, 0, rows)).add_(mask_.slice(0, 0, rows).slice(1, 0, rows))};
    const double scale = 1 / std::sqrt(static_cast<double>(now.q.size(-1)));
    for (const Attended& earlier : later_)
      scores.push_back((now.q * earlier.k.slice(1, 0, rows)).sum(-1, true, torch::kFloat32) * scale);
    const torch::Tensor p = torch::cat(scores, -1).softmax(-1).to(torch::kBFloat16);
    torch::Tensor mixed = torch::bmm(p.slice(2, 0, rows), first_.v.slice(1, 0, rows));
    for (std::size_t j = 0; j < later_.size(); ++j) {
      const auto column = rows + static_cast<std::int64_t>(j);
      mixed = mixed + p.slice(2, column, column + 1) * later_[j].v.slice(1, 0, rows);
    }
    return mixed;
  }

  const RecurrentLearner& learner_;
  const Lesson& lesson_;
  torch::Tensor state_;
  int step_ = 0;
  Attended first_;               ///< step 0, which all later rows see
  std::vector<Attended> later_;  ///< step 1, 2, ..., of which a row sees its own
  torch::Tensor mask_;
};

Grade RecurrentLearner::run(const Example& example, bool learn) {
  Grade grade(options_.evaluated);
  const Lesson lesson = prepare_lesson(target_, example, taps(), &vocabulary_, target_head_);
  if (lesson.empty()) return grade;
  const torch::AutoGradMode mode(learn);
  Unrolled unrolled(*this, lesson, states(lesson, learn ? &example.key : nullptr));
  torch::Tensor total = torch::zeros({}, target_.device());
  double weight = 1;
  const int steps = learn ? options_.steps : options_.evaluated;
  for (int s = 0; s < steps; ++s, weight *= options_.decay) {
    const std::int64_t rows = lesson.length() - 2 - s;
    if (rows < 1) break;
    const torch::Tensor out = unrolled.next(rows);
    const Lesson::Pairs pairs = lesson.pairs(rows, 1 + s);
    if (pairs.rows.empty()) continue;
    const torch::Tensor learnt = index_tensor(pairs.rows, target_.device());
    const torch::Tensor graded = out.index_select(0, learnt);
    const VocabularyLoss loss = vocabulary_loss(
        {.hidden = exit(graded), .weight = head()},
        {.targets = lesson.distributions, .wanted = index_tensor(pairs.wanted, target_.device())});
    const auto tries = static_cast<std::int64_t>(pairs.rows.size());
    grade.count(s, loss.agreed.sum().item<std::int64_t>(), tries);
    if (s == 0) grade.rows = tries;
    if (s >= options_.steps) continue;  // only graded
    total = total + loss.sum * (weight * cross_entropy_weight());
    const torch::Tensor more = s == 0 ? state_loss(lesson, graded, learnt) : torch::Tensor();
    if (more.defined()) total = total + more;
  }
  grade.loss = total.item<double>();
  if (learn && grade.rows > 0) total.backward();
  return grade;
}

torch::Tensor RecurrentLearner::draft_logits(const Example& example, std::int64_t root) {
  const torch::NoGradGuard no_grad;
  const Lesson lesson = prepare_lesson(target_, example, taps(), nullptr);
  Unrolled unrolled(*this, lesson, states(lesson, nullptr));
  std::vector<torch::Tensor> logits;
  for (int s = 0; s < options_.evaluated && root + s < lesson.length(); ++s) {
    const torch::Tensor out = unrolled.next(lesson.length() - 1 - s);
    logits.push_back(TorchHead{.hidden = exit(out.slice(0, root - 1, root)), .weight = head()}.logits());
  }
  return torch::cat(logits);
}

nlohmann::json RecurrentLearner::layer_config() const {
  const ModelConfig& c = shape();
  return {{"model_type", "llama"},
          {"hidden_size", c.hidden},
          {"intermediate_size", c.intermediate},
          {"num_hidden_layers", 1},
          {"num_attention_heads", c.heads},
          {"num_key_value_heads", c.kv_heads},
          {"head_dim", c.head_dim},
          {"hidden_act", "silu"},
          {"rms_norm_eps", c.norm_eps},
          {"rope_theta", c.rope.theta},
          {"max_position_embeddings", c.max_context},
          {"vocab_size", c.vocab},
          {"torch_dtype", "bfloat16"}};
}

}  // namespace augur
