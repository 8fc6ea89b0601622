#include "lab/train/recurrent_learner.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/train/part_times.h"

namespace augur {

RecurrentLearner::RecurrentLearner(const TorchLlama& target, DraftVocabulary vocabulary,
                                   const UnrollOptions& options)
    : target_(target),
      vocabulary_(vocabulary.on(target.device())),
      options_(options),
      shape_(head_shape(target.config())),
      rope_(make_rope_table(shape_.rope(), shape_.head_dim, shape_.max_context)),
      target_head_(vocabulary_.rows(target.head())) {
  options_.evaluated = std::max(options_.evaluated, options_.steps);
}

/// The steps of a lesson's sequences; keys and values of earlier steps. A row whose tokens lie behind its
/// sequence's end repeats the last one: nothing is graded there, and no row before it sees it.
class RecurrentLearner::Unrolled {
 public:
  Unrolled(const RecurrentLearner& learner, const Lesson& lesson, const torch::Tensor& states)
      : learner_(learner),
        padding_((kRowsMultiple - lesson.length() % kRowsMultiple) % kRowsMultiple),
        state_(padded(states)),
        embedded_(padded(lesson.embedded)) {
    std::vector<std::int64_t> lengths = lesson.lengths();
    if (padding_ > 0) lengths.push_back(padding_);
    layout_ = c10::make_intrusive<PackLayout>(std::move(lengths), states.device());
  }

  /// What leaves the layer in the next step. [>= T, hidden]: rows behind the last are nobody's.
  torch::Tensor next() {
    const ModelConfig& c = learner_.shape();
    const Entrance in = learner_.enter(state_, embedded_.index_select(0, layout_->rows_ahead(1 + step_)));
    const Attended now = project(learner_.layer_, c, in.attention,
                                 make_rotation(learner_.rope_, layout_->positions() + step_));
    const torch::Tensor out =
        feed_forward(learner_.layer_, c, in.residual + attention_output(learner_.layer_, c, attend(now)));
    state_ = learner_.next_state(out);
    ++step_;
    return out;
  }

 private:
  /// Products of few different shapes: libtorch compiles kernels for each.
  static constexpr std::int64_t kRowsMultiple = 64;

  torch::Tensor padded(const torch::Tensor& x) const {
    return padding_ == 0 ? x : torch::constant_pad_nd(x, {0, 0, 0, padding_});
  }

  torch::Tensor attend(const Attended& now) {
    if (step_ == 0) {
      first_ = now;
    } else {
      own_keys_.push_back(now.k);
      own_values_.push_back(now.v);
    }
    const auto own = [](const std::vector<torch::Tensor>& rows) {
      return rows.empty() ? torch::Tensor() : torch::stack(rows);
    };
    return packed_attention(now.q, first_.k, first_.v, own(own_keys_), own(own_values_), layout_,
                            attention_rule(learner_.layer_, learner_.shape()));
  }

  const RecurrentLearner& learner_;
  std::int64_t padding_;
  torch::Tensor state_, embedded_;
  PackLayoutPtr layout_;
  int step_ = 0;
  Attended first_;                                    ///< step 0, which all later rows see
  std::vector<torch::Tensor> own_keys_, own_values_;  ///< of step 1, 2, ..., of which a row sees its own
};

/// Rows to grade, of all steps: one product with the vocabulary's matrix is cheaper than one for each.
struct RecurrentLearner::Graded {
  std::vector<torch::Tensor> hidden;
  std::vector<std::int64_t> wanted;
  std::vector<float> weights;
  std::vector<std::int64_t> rows_of_step;

  void add(const torch::Tensor& rows, const Lesson::Pairs& pairs, double weight) {
    hidden.push_back(rows);
    wanted.insert(wanted.end(), pairs.wanted.begin(), pairs.wanted.end());
    weights.resize(wanted.size(), static_cast<float>(weight));
    rows_of_step.push_back(std::ssize(pairs.rows));
  }
};

Grade RecurrentLearner::run(std::span<const Example> examples, bool learn) {
  Grade grade(options_.evaluated);
  const Lesson lesson = prepare_lesson(target_, examples, taps(), &vocabulary_, target_head_);
  if (lesson.empty()) return grade;
  const torch::AutoGradMode mode(learn);
  Unrolled unrolled(*this, lesson, states(lesson, learn));
  Graded graded;
  torch::Tensor total = torch::zeros({}, target_.device());
  double weight = cross_entropy_weight();
  const int steps = learn ? options_.steps : options_.evaluated;
  {
    const TimedPart timed("steps", target_.device());
    for (int s = 0; s < steps; ++s, weight *= options_.decay) {
      const torch::Tensor out = unrolled.next();
      const Lesson::Pairs pairs = lesson.pairs(1 + s);
      if (pairs.rows.empty()) break;
      const torch::Tensor rows = index_tensor(pairs.rows, target_.device());
      const torch::Tensor learnt = out.index_select(0, rows);
      graded.add(exit(learnt), pairs, s < options_.steps ? weight : 0);  // steps beyond are only graded
      if (s > 0) continue;
      grade.rows = std::ssize(pairs.rows);
      const torch::Tensor more = state_loss(lesson, learnt, rows);
      if (more.defined()) total = total + more;
    }
  }
  if (grade.rows == 0) return grade;
  VocabularyLoss loss;
  {
    const TimedPart timed("loss", target_.device());
    loss = vocabulary_loss(over_vocabulary(torch::cat(graded.hidden)),
                           {.targets = lesson.distributions,
                            .wanted = index_tensor(graded.wanted, target_.device()),
                            .weights = on_device(torch::tensor(graded.weights), target_.device())});
  }
  total = total + loss.sum;
  if (learn) {
    const TimedPart timed("backward", target_.device());
    total.backward();
  }
  std::vector<torch::Tensor> results;
  for (const torch::Tensor& step : loss.agreed.split_with_sizes(graded.rows_of_step))
    results.push_back(step.sum());
  const torch::Tensor agreed = torch::stack(results).cpu();
  for (std::size_t s = 0; s < graded.rows_of_step.size(); ++s)
    grade.count(static_cast<int>(s), agreed.data_ptr<std::int64_t>()[s], graded.rows_of_step[s]);
  grade.loss = total.item<double>();
  return grade;
}

torch::Tensor RecurrentLearner::draft_logits(const Example& example, std::int64_t root) {
  const torch::NoGradGuard no_grad;
  const Lesson lesson = prepare_lesson(target_, {&example, 1}, taps(), nullptr);
  Unrolled unrolled(*this, lesson, states(lesson, false));
  std::vector<torch::Tensor> logits;
  for (int s = 0; s < options_.evaluated && root + s < lesson.length(); ++s)
    logits.push_back(over_vocabulary(exit(unrolled.next().slice(0, root - 1, root))).logits());
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
          {"rope_theta", c.rope().theta},
          {"max_position_embeddings", c.max_context},
          {"vocab_size", c.vocab},
          {"torch_dtype", "bfloat16"}};
}

}  // namespace augur
