#include "lab/train/recurrent_learner.h"

#include <algorithm>
#include <nlohmann/json.hpp>

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

/// The steps of a lesson's sequences; keys and values of earlier steps. Products are of all rows at once,
/// attention is a sequence's own. A row whose tokens lie behind its sequence's end repeats the last one:
/// nothing is graded there, and no row before it sees it.
class RecurrentLearner::Unrolled {
 public:
  Unrolled(const RecurrentLearner& learner, const Lesson& lesson, const torch::Tensor& states)
      : learner_(learner),
        lesson_(lesson),
        padding_((kRowsMultiple - lesson.length() % kRowsMultiple) % kRowsMultiple),
        state_(padded(states)) {
    std::int64_t longest = 0;
    for (const Lesson::Sequence& s : lesson.sequences) longest = std::max(longest, s.length);
    mask_ = causal_mask(longest, states.device());
  }

  /// What leaves the layer in the next step. [>= T, hidden]: rows behind the last are nobody's.
  torch::Tensor next() {
    const ModelConfig& c = learner_.shape();
    const torch::Device device = state_.device();
    const torch::Tensor tokens = index_tensor(lesson_.rows_ahead(1 + step_), device);
    std::vector<std::int64_t> positions = lesson_.positions();
    for (std::int64_t& position : positions) position += step_;
    positions.resize(positions.size() + static_cast<std::size_t>(padding_), 0);
    const Entrance in = learner_.enter(state_, padded(lesson_.embedded.index_select(0, tokens)));
    const Attended now = project(learner_.layer_, c, in.attention,
                                 make_rotation(learner_.rope_, index_tensor(positions, device)));
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
      later_.push_back(now);
    }
    std::vector<torch::Tensor> mixed;
    for (const Lesson::Sequence& s : lesson_.sequences) mixed.push_back(attend_sequence(now, s));
    if (padding_ > 0) mixed.push_back(torch::zeros_like(now.q.slice(1, 0, padding_)));
    return torch::cat(mixed, 1);
  }

  torch::Tensor attend_sequence(const Attended& now, const Lesson::Sequence& s) const {
    const auto rows = [&](const torch::Tensor& x) { return x.slice(1, s.begin, s.begin + s.length); };
    const torch::Tensor q = rows(now.q);
    const torch::Tensor mask = mask_.slice(0, 0, s.length).slice(1, 0, s.length);
    std::vector<torch::Tensor> scores = {attention_scores(learner_.layer_, q, rows(first_.k)).add_(mask)};
    const double scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
    for (const Attended& earlier : later_)
      scores.push_back((q * rows(earlier.k)).sum(-1, true, torch::kFloat32) * scale);
    const torch::Tensor all = later_.empty() ? scores[0] : torch::cat(scores, -1);
    const torch::Tensor p = all.softmax(-1).to(torch::kBFloat16);
    torch::Tensor mixed = product(p.slice(2, 0, s.length), rows(first_.v));
    for (std::size_t j = 0; j < later_.size(); ++j) {
      const auto column = s.length + static_cast<std::int64_t>(j);
      mixed = mixed + p.slice(2, column, column + 1) * rows(later_[j].v);
    }
    return mixed;
  }

  const RecurrentLearner& learner_;
  const Lesson& lesson_;
  std::int64_t padding_;
  torch::Tensor state_;
  int step_ = 0;
  Attended first_;               ///< step 0, which all later rows see
  std::vector<Attended> later_;  ///< step 1, 2, ..., of which a row sees its own
  torch::Tensor mask_;
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
  if (grade.rows == 0) return grade;
  const VocabularyLoss loss =
      vocabulary_loss(over_vocabulary(torch::cat(graded.hidden)),
                      {.targets = lesson.distributions,
                       .wanted = index_tensor(graded.wanted, target_.device()),
                       .weights = torch::tensor(graded.weights).to(target_.device())});
  std::int64_t begin = 0;
  for (std::size_t s = 0; s < graded.rows_of_step.size(); ++s) {
    const std::int64_t rows = graded.rows_of_step[s];
    grade.count(static_cast<int>(s), loss.agreed.slice(0, begin, begin + rows).sum().item<std::int64_t>(),
                rows);
    begin += rows;
  }
  total = total + loss.sum;
  grade.loss = total.item<double>();
  if (learn) total.backward();
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
