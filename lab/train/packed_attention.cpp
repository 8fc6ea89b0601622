#include "lab/train/packed_attention.h"

#include "lab/train/causal_attention.h"

namespace augur {

namespace {

/// Keys of rows' own: their scores, and what those are made of. E keys a row; heads by kv head.
class OwnKeys {
 public:
  OwnKeys(const torch::Tensor& q, const torch::Tensor& k, const AttentionRule& rule)
      : rule_(rule),
        q_(q.to(torch::kFloat32).view({q.size(0), k.size(2), -1, q.size(2)})),
        k_(k.unsqueeze(3)),
        scores_((q_ * k_).sum(-1) * rule.scale) {
    if (rule.cap > 0) scores_ = (scores_ / rule.cap).tanh() * rule.cap;
  }

  /// [E, T, heads] float32
  torch::Tensor scores() const { return scores_.flatten(2); }

  /// Of what the keys' probabilities [E, T, heads] mix of values [E, T, kv heads, d].
  struct Gradient {
    torch::Tensor q, k, v;
  };
  torch::Tensor mix(const torch::Tensor& probabilities, const torch::Tensor& v) const {
    return (probabilities.view(scores_.sizes()).unsqueeze(-1) * v.unsqueeze(3)).sum(0).flatten(1, 2);
  }
  /// `grad` [T, heads, d] of the mixed values; `shared` [T, heads]: sum of a row's probabilities times their
  /// gradients.
  Gradient gradient(const torch::Tensor& grad, const torch::Tensor& norm, const torch::Tensor& shared,
                    const torch::Tensor& v) const {
    const torch::Tensor g = grad.view(q_.sizes());
    const auto by_kv_head = [&](const torch::Tensor& x) { return x.view({x.size(0), q_.size(1), -1}); };
    const torch::Tensor p = (scores_ - by_kv_head(norm)).exp();
    torch::Tensor ds = ((g * v.unsqueeze(3)).sum(-1) - by_kv_head(shared)) * p * rule_.scale;
    if (rule_.cap > 0) ds = ds * (1 - (scores_ / rule_.cap).square());
    ds = ds.unsqueeze(-1);
    return {(ds * k_).sum(0).flatten(1, 2), (ds * q_).sum(3), (p.unsqueeze(-1) * g).sum(3)};
  }

 private:
  AttentionRule rule_;
  torch::Tensor q_;       ///< [T, kv heads, group, d] float32
  torch::Tensor k_;       ///< [E, T, kv heads, 1, d]
  torch::Tensor scores_;  ///< [E, T, kv heads, group]
};

class Attention : public torch::autograd::Function<Attention> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& q,
                               const torch::Tensor& k, const torch::Tensor& v, const torch::Tensor& own_k,
                               const torch::Tensor& own_v, const PackLayoutPtr& layout,
                               const AttentionRule& rule) {
    CausalAttention out = causal_attention(q, k, v, *layout, rule);
    if (own_k.numel() > 0) {
      const OwnKeys own(q, own_k, rule);
      const torch::Tensor all = torch::cat({out.norm.t().unsqueeze(0), own.scores()});
      const torch::Tensor norm = all.logsumexp(0);
      const torch::Tensor share = (all - norm).exp_();
      out.mixed =
          (out.mixed * share[0].unsqueeze(-1) + own.mix(share.slice(0, 1), own_v)).to(q.scalar_type());
      out.norm = norm.t().contiguous();
    }
    context->save_for_backward({q, k, v, own_k, own_v, out.mixed, out.norm, out.random_state, out.unused});
    context->saved_data["layout"] = c10::IValue::make_capsule(layout);
    context->saved_data["rule"] = std::vector<double>{rule.scale, rule.cap, static_cast<double>(rule.window)};
    return out.mixed;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list grads) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &own_k = saved[3], &own_v = saved[4];
    const CausalAttention out{saved[5], saved[6], saved[7], saved[8]};
    const auto layout =
        c10::static_intrusive_pointer_cast<PackLayout>(context->saved_data["layout"].toCapsule());
    const std::vector<double> numbers = context->saved_data["rule"].toDoubleVector();
    const AttentionRule rule{numbers[0], numbers[1], static_cast<std::int64_t>(numbers[2])};
    const torch::Tensor grad = grads[0].contiguous();
    CausalGradient gradient = causal_attention_gradient(grad, q, k, v, out, *layout, rule);
    torch::autograd::tensor_list result(7);  // one for every argument of forward
    if (own_k.numel() > 0) {
      const torch::Tensor g = grad.to(torch::kFloat32);
      const torch::Tensor shared = (g * out.mixed).sum(-1);
      const OwnKeys::Gradient own = OwnKeys(q, own_k, rule).gradient(g, out.norm.t(), shared, own_v);
      gradient.q = (gradient.q + own.q).to(q.scalar_type());
      result[3] = own.k.to(own_k.scalar_type());
      result[4] = own.v.to(own_v.scalar_type());
    }
    result[0] = gradient.q;
    result[1] = gradient.k;
    result[2] = gradient.v;
    return result;
  }
};

}  // namespace

torch::Tensor packed_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                               const torch::Tensor& own_k, const torch::Tensor& own_v,
                               const PackLayoutPtr& layout, const AttentionRule& rule) {
  // Autograd wants every argument defined: an empty tensor stands for none.
  const torch::Tensor none = torch::empty({0}, q.options());
  return Attention::apply(q.contiguous(), k.contiguous(), v.contiguous(), own_k.defined() ? own_k : none,
                          own_v.defined() ? own_v : none, layout, rule);
}

}  // namespace augur
