#include "lab/train/causal_attention.h"

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/version.h>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "lab/train/attention_rows.h"
#include "lab/train/torch_ops.h"

namespace augur {

namespace {

/// Calls an operator of libtorch by its name and those of its arguments: which ones it takes depends on the
/// version, and one without CUDA need not have it at all.
torch::jit::Stack call_operator(const char* name,
                                const std::unordered_map<std::string, c10::IValue>& arguments) {
  const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
  torch::jit::Stack stack;
  op.schema().checkAndNormalizeInputs(stack, arguments);
  op.callBoxed(stack);
  return stack;
}

/// libtorch's own switch.
bool flash_may() {
#if TORCH_VERSION_MAJOR >= 2
  return at::globalContext().userEnabledFlashSDP();
#else
  return false;
#endif
}

bool flash_can(const torch::Tensor& q, const AttentionRule& rule) {
  return flash_may() && q.is_cuda() && q.scalar_type() == torch::kBFloat16 && rule.cap == 0 &&
         q.size(2) % 8 == 0 && q.size(2) <= 256;
}

/// What forward and backward have in common.
std::unordered_map<std::string, c10::IValue> flash_arguments(const torch::Tensor& q, const torch::Tensor& k,
                                                             const torch::Tensor& v, const PackLayout& layout,
                                                             const AttentionRule& rule) {
  const std::int64_t longest =
      std::max<std::int64_t>(layout.longest(), 2);  // 1 has a layout of its own there
  std::unordered_map<std::string, c10::IValue> all = {
      {"query", q},
      {"key", k},
      {"value", v},
      {"cum_seq_q", layout.bounds()},
      {"cum_seq_k", layout.bounds()},
      {"max_q", longest},
      {"max_k", longest},
      {"dropout_p", 0.0},
      {"is_causal", true},
      {"scale", rule.scale},
  };
  if (rule.window > 0) all["window_size_left"] = rule.window - 1;  // beside its own
  return all;
}

CausalAttention flash(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                      const PackLayout& layout, const AttentionRule& rule) {
  auto arguments = flash_arguments(q, k, v, layout, rule);
  arguments["return_debug_mask"] = false;
  const torch::jit::Stack out = call_operator("aten::_flash_attention_forward", arguments);
  CausalAttention result{out[0].toTensor(), out[1].toTensor(), out[2].toTensor(), out[3].toTensor()};
  TORCH_CHECK(result.norm.dim() == 2 && result.norm.size(1) == q.size(0),
              "flash attention of this libtorch gives norms of shape ", result.norm.sizes(),
              " for queries of shape ", q.sizes(), ": expected [heads, rows]");
  return result;
}

CausalGradient flash_gradient(const torch::Tensor& grad, const torch::Tensor& q, const torch::Tensor& k,
                              const torch::Tensor& v, const CausalAttention& out, const PackLayout& layout,
                              const AttentionRule& rule) {
  auto arguments = flash_arguments(q, k, v, layout, rule);
  arguments["grad_out"] = grad;
  arguments["out"] = out.mixed;
  arguments["logsumexp"] = out.norm;
  arguments["rng_state"] = out.random_state;
  arguments["unused"] = out.unused;
  const torch::jit::Stack gradients = call_operator("aten::_flash_attention_backward", arguments);
  return {gradients[0].toTensor(), gradients[1].toTensor(), gradients[2].toTensor()};
}

/// Rows x [T, heads, d] of a bucket as its products want them: those of all queries of a kv head together,
/// [sequences * kv heads, heads / kv heads * length, d].
torch::Tensor by_head(const torch::Tensor& x, const PackLayout::Bucket& bucket, std::int64_t kv_heads) {
  const std::int64_t sequences = bucket.rows.size(0), length = bucket.rows.size(1);
  const std::int64_t group = x.size(1) / kv_heads, width = x.size(2);
  return x.index_select(0, bucket.rows.flatten())
      .view({sequences, length, kv_heads, group, width})
      .permute({0, 2, 3, 1, 4})
      .reshape({sequences * kv_heads, group * length, width});
}

/// And back: the bucket's places one after another, [places, heads, d].
torch::Tensor by_place(const torch::Tensor& x, const PackLayout::Bucket& bucket, std::int64_t kv_heads) {
  const std::int64_t sequences = bucket.rows.size(0), length = bucket.rows.size(1);
  const std::int64_t group = x.size(1) / length, width = x.size(2);
  return x.view({sequences, kv_heads, group, length, width})
      .permute({0, 3, 1, 2, 4})
      .reshape({sequences * length, kv_heads * group, width});
}

/// The pack's rows from what the buckets have in their places.
torch::Tensor by_row(const std::vector<torch::Tensor>& buckets, const PackLayout& layout) {
  const torch::Tensor all = buckets.size() == 1 ? buckets[0] : torch::cat(buckets);
  return all.index_select(0, layout.places());
}

CausalAttention dense(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                      const PackLayout& layout, const AttentionRule& rule) {
  const std::int64_t kv_heads = k.size(1);
  std::vector<torch::Tensor> mixed, norms;
  for (const PackLayout::Bucket& bucket : layout.buckets()) {
    torch::Tensor p =
        product(by_head(q, bucket, kv_heads), by_head(k, bucket, kv_heads).transpose(1, 2)).contiguous();
    const torch::Tensor norm = softmax_rows(p, rule);
    mixed.push_back(by_place(product(p, by_head(v, bucket, kv_heads)), bucket, kv_heads));
    norms.push_back(by_place(norm.unsqueeze(2), bucket, kv_heads));
  }
  return {.mixed = by_row(mixed, layout),
          .norm = by_row(norms, layout).squeeze(2).t(),
          .random_state = {},
          .unused = {}};
}

CausalGradient dense_gradient(const torch::Tensor& grad, const torch::Tensor& q, const torch::Tensor& k,
                              const torch::Tensor& v, const CausalAttention& out, const PackLayout& layout,
                              const AttentionRule& rule) {
  const std::int64_t kv_heads = k.size(1);
  const torch::Tensor norms = out.norm.t().unsqueeze(2);
  const torch::Tensor shared =
      (grad.to(torch::kFloat32) * out.mixed.to(torch::kFloat32)).sum(-1, true);  // [T, heads, 1]
  std::vector<torch::Tensor> grad_q, grad_k, grad_v;
  for (const PackLayout::Bucket& bucket : layout.buckets()) {
    const torch::Tensor queries = by_head(q, bucket, kv_heads), keys = by_head(k, bucket, kv_heads);
    torch::Tensor mixed = by_head(grad, bucket, kv_heads), common = by_head(shared, bucket, kv_heads);
    if (bucket.valid.defined()) {
      const std::int64_t sequences = bucket.rows.size(0), length = bucket.rows.size(1);
      const torch::Tensor valid = bucket.valid.view({sequences, 1, 1, length, 1});
      for (torch::Tensor* x : {&mixed, &common}) {
        const torch::Tensor placed = x->view({sequences, kv_heads, -1, length, x->size(2)});
        *x = (placed * valid.to(x->scalar_type())).view(x->sizes());
      }
    }
    torch::Tensor p = product(queries, keys.transpose(1, 2)).contiguous();
    torch::Tensor gradient = product(mixed, by_head(v, bucket, kv_heads).transpose(1, 2)).contiguous();
    softmax_rows_gradient(p, gradient, by_head(norms, bucket, kv_heads).squeeze(2), common.squeeze(2), rule);
    grad_q.push_back(by_place(product(gradient, keys), bucket, kv_heads));
    grad_k.push_back(by_place(product(gradient.transpose(1, 2), queries), bucket, kv_heads));
    grad_v.push_back(by_place(product(p.transpose(1, 2), mixed), bucket, kv_heads));
  }
  return {by_row(grad_q, layout), by_row(grad_k, layout), by_row(grad_v, layout)};
}

}  // namespace

CausalAttention causal_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                 const PackLayout& layout, const AttentionRule& rule) {
  return flash_can(q, rule) ? flash(q, k, v, layout, rule) : dense(q, k, v, layout, rule);
}

CausalGradient causal_attention_gradient(const torch::Tensor& grad, const torch::Tensor& q,
                                         const torch::Tensor& k, const torch::Tensor& v,
                                         const CausalAttention& out, const PackLayout& layout,
                                         const AttentionRule& rule) {
  return flash_can(q, rule) ? flash_gradient(grad, q, k, v, out, layout, rule)
                            : dense_gradient(grad, q, k, v, out, layout, rule);
}

}  // namespace augur
