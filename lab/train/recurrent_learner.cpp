#include "lab/train/recurrent_learner.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/train/gradient_checkpoint.h"
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
  Unrolled(RecurrentLearner& learner, const Lesson& lesson, const torch::Tensor& states)
      : learner_(learner),
        parameters_(learner.step_parameters()),
        padding_((kRowsMultiple - lesson.length() % kRowsMultiple) % kRowsMultiple),
        state_(padded(states)),
        embedded_(padded(lesson.embedded)) {
    std::vector<std::int64_t> lengths = lesson.lengths();
    if (padding_ > 0) lengths.push_back(padding_);
    layout_ = c10::make_intrusive<PackLayout>(std::move(lengths), states.device());
  }

  /// What leaves the layer in the next step. [>= T, hidden]: rows behind the last are nobody's.
  torch::Tensor next() {
    const auto run = [this, step = step_](const std::vector<torch::Tensor>& in) { return compute(step, in); };
    std::vector<torch::Tensor> in = {state_};
    in.insert(in.end(), keys_.begin(), keys_.end());
    in.insert(in.end(), values_.begin(), values_.end());
    const std::vector<torch::Tensor> out =
        checkpointed(learner_.gradient_checkpointing(), run, in, parameters_);
    keys_.push_back(out[1]);
    values_.push_back(out[2]);
    state_ = learner_.next_state(out[0]);
    ++step_;
    return out[0];
  }

 private:
  /// Products of few different shapes: libtorch compiles kernels for each.
  static constexpr std::int64_t kRowsMultiple = 64;

  torch::Tensor padded(const torch::Tensor& x) const {
    return padding_ == 0 ? x : torch::constant_pad_nd(x, {0, 0, 0, padding_});
  }

  /// What leaves the layer in a step, its keys and its values, of the state that enters it and the keys, then
  /// the values, of the steps before.
  std::vector<torch::Tensor> compute(int step, const std::vector<torch::Tensor>& in) const {
    const ModelConfig& c = learner_.shape();
    const TorchLayer& layer = learner_.layer_;
    const Entrance given = learner_.enter(in[0], embedded_.index_select(0, layout_->rows_ahead(1 + step)));
    const Attended now =
        project(layer, c, given.attention, make_rotation(learner_.rope_, layout_->positions() + step));
    const auto of_steps = [&](int first, const torch::Tensor& last) {
      std::vector<torch::Tensor> all(in.begin() + first, in.begin() + first + step);
      all.push_back(last);
      return all;
    };
    const std::vector<torch::Tensor> keys = of_steps(1, now.k), values = of_steps(1 + step, now.v);
    const auto own = [](const std::vector<torch::Tensor>& all) {
      return all.size() == 1 ? torch::Tensor() : torch::stack(at::TensorList(all).slice(1));
    };
    const torch::Tensor mixed = packed_attention(now.q, keys[0], values[0], own(keys), own(values), layout_,
                                                 attention_rule(layer, c));
    return {feed_forward(layer, c, given.residual + attention_output(layer, c, mixed)), now.k, now.v};
  }

  const RecurrentLearner& learner_;
  std::vector<torch::Tensor> parameters_;
  std::int64_t padding_;
  torch::Tensor state_, embedded_;
  PackLayoutPtr layout_;
  int step_ = 0;
  /// Of step 0, which all later rows see, and of steps 1, 2, ..., of which a row sees its own.
  std::vector<torch::Tensor> keys_, values_;
};

std::vector<torch::Tensor> RecurrentLearner::step_parameters() {
  NamedTensors used;
  for (const auto& parameter : parameters()) {
    if (!is_table(parameter.first)) used.push_back(parameter);
  }
  return values_of(used);
}

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
