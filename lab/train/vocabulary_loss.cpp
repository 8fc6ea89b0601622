#include "lab/train/vocabulary_loss.h"

#include <algorithm>

#include "lab/train/row_grade.h"
#include "lab/train/torch_ops.h"

namespace augur {

namespace {

/// Every chunk adds to the whole matrix's gradient, so few are good; their logits take memory.
std::int64_t chunk_rows(torch::Device device, std::int64_t vocabulary) {
  const std::int64_t logits = device.is_cpu() ? 12 << 20 : 128 << 20;
  return std::max<std::int64_t>(64, logits / vocabulary);
}

bool is_there(const torch::Tensor& x) {
  return x.numel() > 0;
}

torch::Tensor factor(const torch::Tensor& x) {
  return is_there(x) ? x.detach().to(product_type()) : x;
}

/// Where a tensor's gradient is to be collected; undefined where nobody wants it.
torch::Tensor gradient_of(const torch::Tensor& x, bool learning) {
  const bool wanted = learning && x.requires_grad();
  return wanted ? torch::zeros_like(x, torch::dtype(torch::kFloat32).requires_grad(false)) : torch::Tensor();
}

/// A chunk's loss by rows, and d loss / d logits where it is wanted.
struct Chunk {
  torch::Tensor loss;      ///< [r]
  torch::Tensor gradient;  ///< [r, V] in product_type()
  torch::Tensor agreed;    ///< [r] bool
  torch::Tensor distance;  ///< [r]
  torch::Tensor weights;   ///< [r] that the gradient's rows have yet to be multiplied by; undefined: none
};

/// `log_q` [r, V] is overwritten: these are the largest tensors of a step, and memory is what they cost.
Chunk grade(torch::Tensor log_q, const VocabularyTargets& t, std::int64_t begin, std::int64_t end,
            bool learning) {
  const torch::Tensor target = t.targets.index_select(0, t.wanted.slice(0, begin, end));
  Chunk out;
  if (target.dim() == 1) {  // tokens
    const torch::Tensor column = target.unsqueeze(1);
    out.loss = log_q.gather(1, column).squeeze(1).neg();
    out.agreed = log_q.argmax(-1) == target;
    if (learning)
      out.gradient = log_q.exp_().scatter_add_(1, column, torch::full_like(column, -1.0f, torch::kFloat32));
  } else {
    torch::Tensor p = target.to(torch::kFloat32);
    out.loss = (p * log_q).sum(-1).mul_(-t.cross_entropy);
    out.agreed = log_q.argmax(-1) == p.argmax(-1);
    if (t.l1 != 0) {
      const torch::Tensor q = log_q.exp_();
      const torch::Tensor difference = p.sub_(q).neg_();
      out.distance = difference.abs().sum(-1).mul_(0.5);
      out.loss += out.distance * (2 * t.l1);
      if (learning) {
        // d |q - p|_1 / d logit_j = q_j (s_j - sum_i q_i s_i), s the signs of q - p.
        torch::Tensor s = difference.sign();
        s.sub_((q * s).sum(-1, true)).mul_(q).mul_(t.l1);
        out.gradient = s.add_(difference, t.cross_entropy);
      }
    } else if (learning) {
      out.gradient = log_q.exp_().sub_(p);
      if (t.cross_entropy != 1) out.gradient.mul_(t.cross_entropy);
    }
  }
  if (t.weights.defined()) {
    const torch::Tensor w = t.weights.slice(0, begin, end);
    out.loss = out.loss * w;
    if (learning) out.gradient.mul_(w.unsqueeze(1));
  }
  if (learning) out.gradient = out.gradient.to(product_type());
  return out;
}

/// Cross-entropy against distributions, and nothing else.
bool is_plain(const VocabularyTargets& t) {
  return t.targets.dim() == 2 && t.cross_entropy == 1 && t.l1 == 0;
}

/// What is asked of every distribution as often as it is a row's target.
struct KnownOfTargets {
  torch::Tensor favourites;  ///< [T] int64
  torch::Tensor
      masses;  ///< [T] float32: sums, 1 but for rounding; undefined on the CPU, where they cost nothing
};

KnownOfTargets known_of(const VocabularyTargets& t) {
  if (!is_plain(t)) return {};
  if (t.targets.is_cpu()) return {.favourites = row_favourites(t.targets), .masses = {}};
  return {.favourites = t.targets.argmax(-1), .masses = t.targets.sum(-1, false, torch::kFloat32)};
}

/// Like grade_plainly() by operations that each pass over all rows: as few as will do.
Chunk grade_in_passes(torch::Tensor logits, const VocabularyTargets& t, const KnownOfTargets& known,
                      std::int64_t begin, std::int64_t end, bool learning) {
  const torch::Tensor wanted = t.wanted.slice(0, begin, end);
  const torch::Tensor p = t.targets.index_select(0, wanted);
  const auto [largest, favourite] = logits.max(-1, true);
  const torch::Tensor x = logits.to(torch::kFloat32);
  const torch::Tensor q = x.softmax(-1);
  const torch::Tensor norm = (largest - q.gather(1, favourite).log()).squeeze(1);  // log-sum-exp
  Chunk out;
  out.loss = known.masses.index_select(0, wanted) * norm - (x * p).sum(-1);
  out.agreed = favourite.squeeze(1) == known.favourites.index_select(0, wanted);
  if (t.weights.defined()) {
    out.weights = t.weights.slice(0, begin, end);
    out.loss = out.loss * out.weights;
  }
  if (learning) out.gradient = torch::sub_out(logits, q, p);
  return out;
}

Chunk grade_plainly(torch::Tensor logits, const VocabularyTargets& t, const KnownOfTargets& known,
                    std::int64_t begin, std::int64_t end, bool learning) {
  const torch::Tensor weights = t.weights.defined() ? t.weights.slice(0, begin, end) : torch::Tensor();
  const RowGrades rows =
      grade_rows(logits, t.targets, known.favourites, t.wanted.slice(0, begin, end), weights, learning);
  return {.loss = rows.loss,
          .gradient = learning ? logits : torch::Tensor(),
          .agreed = rows.agreed,
          .distance = {},
          .weights = {}};
}

/// d form(x) / d x where form(x) = `shaped` [r, V].
torch::Tensor slope(const torch::Tensor& shaped, const LogitForm& form) {
  if (form.cap <= 0) return torch::tensor(form.scale, shaped.options());
  return (1 - (shaped / static_cast<double>(form.cap)).square()) * static_cast<double>(form.scale);
}

class Loss : public torch::autograd::Function<Loss> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& hidden,
                               const torch::Tensor& weight, const torch::Tensor& extra,
                               const torch::Tensor& extra_weight, const torch::Tensor& bias,
                               const LogitForm& form, const VocabularyTargets* targets, bool learning,
                               VocabularyLoss* out) {
    const torch::Tensor grad_hidden = gradient_of(hidden, learning);
    const torch::Tensor grad_weight = gradient_of(weight, learning);
    const torch::Tensor grad_extra = gradient_of(extra, learning);
    const torch::Tensor grad_extra_weight = gradient_of(extra_weight, learning);
    const torch::Tensor grad_bias = gradient_of(bias, learning);
    const torch::Tensor w = factor(weight), e = factor(extra_weight), h = factor(hidden), x = factor(extra);
    std::vector<torch::Tensor> agreed, distance;
    torch::Tensor sum = torch::zeros({}, torch::dtype(torch::kFloat64).device(h.device()));
    const std::int64_t rows_at_once = chunk_rows(h.device(), w.size(0));
    const KnownOfTargets known = known_of(*targets);
    for (std::int64_t begin = 0; begin < h.size(0); begin += rows_at_once) {
      const std::int64_t end = std::min(begin + rows_at_once, h.size(0));
      torch::Tensor rows = h.slice(0, begin, end);
      torch::Tensor scores = product(rows, w.t());
      Chunk chunk;
      torch::Tensor steepness;
      if (is_plain(*targets) && form.is_identity() && !is_there(x) && !is_there(bias)) {
        chunk = h.is_cpu() ? grade_plainly(std::move(scores), *targets, known, begin, end, learning)
                           : grade_in_passes(std::move(scores), *targets, known, begin, end, learning);
      } else {
        torch::Tensor logits = scores.to(torch::kFloat32);
        if (is_there(bias)) logits = logits.add_(bias.detach());
        logits = shaped(logits, form);
        if (learning && !form.is_identity()) steepness = slope(logits, form);
        if (is_there(x)) logits = logits.add_(product(x.slice(0, begin, end), e.t()));
        chunk = grade(logits.log_softmax(-1), *targets, begin, end, learning);
      }
      sum += chunk.loss.sum(torch::kFloat64);
      agreed.push_back(chunk.agreed);
      if (chunk.distance.defined()) distance.push_back(chunk.distance);
      if (grad_extra.defined()) grad_extra.slice(0, begin, end).copy_(product(chunk.gradient, e));
      if (grad_extra_weight.defined())
        grad_extra_weight.add_(product(chunk.gradient.t(), x.slice(0, begin, end)));
      if (steepness.defined()) chunk.gradient.mul_(steepness);
      if (grad_hidden.defined()) {
        torch::Tensor part = grad_hidden.slice(0, begin, end);
        part.copy_(product(chunk.gradient, w));
        if (chunk.weights.defined()) part.mul_(chunk.weights.unsqueeze(1));
      }
      if (chunk.weights.defined()) rows = (rows * chunk.weights.unsqueeze(1)).to(rows.scalar_type());
      if (grad_weight.defined()) grad_weight.add_(product(chunk.gradient.t(), rows));
      if (grad_bias.defined()) grad_bias.add_(chunk.gradient.sum(0, false, torch::kFloat32));
    }
    out->agreed = torch::cat(agreed);
    if (!distance.empty()) out->distance = torch::cat(distance);
    context->save_for_backward({grad_hidden, grad_weight, grad_extra, grad_extra_weight, grad_bias});
    return sum.to(torch::kFloat32);
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list grads) {
    torch::autograd::tensor_list out;
    // Mostly this loss is what is summed up: no need to pass over a large matrix then.
    const bool as_is = grads[0].is_cpu() && grads[0].item<float>() == 1;
    for (const torch::Tensor& saved : context->get_saved_variables()) {
      out.push_back(saved.defined() && !as_is ? saved * grads[0] : saved);
    }
    out.resize(9);  // one for every argument of forward
    return out;
  }
};

}  // namespace

torch::Tensor TorchHead::logits() const {
  torch::Tensor y = linear_rows(hidden, weight).to(torch::kFloat32);
  if (bias.defined()) y = y + bias;
  y = shaped(y, form);
  return extra.defined() ? y + linear_rows(extra, extra_weight) : y;
}

VocabularyLoss vocabulary_loss(const TorchHead& head, const VocabularyTargets& targets) {
  VocabularyLoss loss;
  // Asked here, since autograd switches it off around forward.
  const bool learning = torch::GradMode::is_enabled();
  // Autograd wants every argument defined: an empty tensor stands for none.
  const auto present = [&](const torch::Tensor& x) {
    return x.defined() ? x : torch::empty({0}, head.weight.device());
  };
  loss.sum = Loss::apply(head.hidden, head.weight, present(head.extra), present(head.extra_weight),
                         present(head.bias), head.form, &targets, learning, &loss);
  return loss;
}

}  // namespace augur
