#include "train/torch_ops.h"

#include <malloc.h>

#include <algorithm>
#include <limits>

namespace augur {

torch::Tensor linear_bf16(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias) {
  const torch::Tensor y = torch::linear(x.to(torch::kBFloat16), weight.to(torch::kBFloat16));
  return bias.defined() ? y + bias.to(torch::kBFloat16) : y;
}

torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps) {
  const torch::Tensor f = x.to(torch::kFloat32);
  return f * torch::rsqrt(f.square().mean(-1, true) + eps) * weight;
}

Rotation make_rotation(const RopeTable& table, std::int64_t first, std::int64_t count) {
  const torch::Tensor frequencies =
      torch::tensor(std::vector<double>(table.inverse_frequencies.begin(), table.inverse_frequencies.end()),
                    torch::kFloat64);
  const torch::Tensor positions = torch::arange(first, first + count, torch::kFloat64);
  const torch::Tensor angles = torch::outer(positions, frequencies);
  const torch::Tensor both = torch::cat({angles, angles}, 1);
  return {(both.cos() * table.magnitude).to(torch::kFloat32),
          (both.sin() * table.magnitude).to(torch::kFloat32)};
}

torch::Tensor rotate(const torch::Tensor& x, const Rotation& rotation) {
  const torch::Tensor f = x.to(torch::kFloat32);
  const std::vector<torch::Tensor> halves = f.chunk(2, -1);
  const torch::Tensor turned = torch::cat({-halves[1], halves[0]}, -1);
  return f * rotation.cos.unsqueeze(1) + turned * rotation.sin.unsqueeze(1);
}

torch::Tensor spread_heads(const torch::Tensor& x, std::int64_t heads) {
  const std::int64_t length = x.size(0);
  const std::int64_t kv_heads = x.size(1);
  const std::int64_t width = x.size(2);
  return x.transpose(0, 1)
      .unsqueeze(1)
      .expand({kv_heads, heads / kv_heads, length, width})
      .reshape({heads, length, width});
}

torch::Tensor causal_mask(std::int64_t length) {
  return torch::full({length, length}, -std::numeric_limits<float>::infinity()).triu(1);
}

namespace {

constexpr std::int64_t kChunkRows = 128;

class SoftCrossEntropy : public torch::autograd::Function<SoftCrossEntropy> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& hidden,
                               const torch::Tensor& weight, const torch::Tensor& targets,
                               const torch::Tensor& rows, std::int64_t* agreed) {
    const bool learning = hidden.requires_grad() || weight.requires_grad();
    const torch::Tensor h = hidden.detach().to(torch::kBFloat16);
    const torch::Tensor w = weight.detach().to(torch::kBFloat16);
    torch::Tensor grad_hidden = learning ? torch::empty(hidden.sizes(), torch::kFloat32) : torch::Tensor();
    torch::Tensor grad_weight = learning ? torch::zeros(weight.sizes(), torch::kFloat32) : torch::Tensor();
    double sum = 0;
    *agreed = 0;
    for (std::int64_t begin = 0; begin < h.size(0); begin += kChunkRows) {
      const std::int64_t end = std::min(begin + kChunkRows, h.size(0));
      const torch::Tensor chunk = h.slice(0, begin, end);
      const torch::Tensor q = targets.index_select(0, rows.slice(0, begin, end)).to(torch::kFloat32);
      torch::Tensor log_p = torch::linear(chunk, w).to(torch::kFloat32).log_softmax(-1);
      sum -= (q * log_p).sum().item<double>();
      *agreed += (log_p.argmax(-1) == q.argmax(-1)).sum().item<std::int64_t>();
      if (!learning) continue;
      const torch::Tensor grad_logits = log_p.exp_().sub_(q).to(torch::kBFloat16);
      grad_hidden.slice(0, begin, end).copy_(grad_logits.mm(w));
      grad_weight.add_(grad_logits.t().mm(chunk));
    }
    context->save_for_backward({grad_hidden, grad_weight});
    return torch::tensor(sum, torch::kFloat32);
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list grads) {
    const auto saved = context->get_saved_variables();
    return {saved[0] * grads[0], saved[1] * grads[0], torch::Tensor(), torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

HeadLoss soft_cross_entropy(const torch::Tensor& hidden, const torch::Tensor& weight,
                            const torch::Tensor& targets, const torch::Tensor& rows) {
  HeadLoss loss{{}, 0};
  loss.sum = SoftCrossEntropy::apply(hidden, weight, targets, rows, &loss.agreed);
  return loss;
}

void keep_large_allocations() {
  constexpr int kGigabyte = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kGigabyte);
  mallopt(M_TRIM_THRESHOLD, kGigabyte);
  mallopt(M_TOP_PAD, kGigabyte / 4);
}

}  // namespace augur
