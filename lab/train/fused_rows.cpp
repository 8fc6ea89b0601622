#include "lab/train/fused_rows.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/every_width.h"
#include "kernels/ops.h"
#include "lab/train/torch_rows.h"

namespace augur {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

constexpr std::int64_t kLanes = 16;   // sums in so many parts, which compilers make vectors of
constexpr std::int64_t kChunk = 256;  // rows whose sums are made by one thread

using Floats = std::vector<float>;

Floats row_of(std::int64_t width) {
  return Floats(static_cast<std::size_t>(width));
}

torch::Tensor matrix(const torch::Tensor& x, std::int64_t width) {
  return x.reshape({-1, width}).contiguous();
}

/// Runs `work(chunk, first row, end)`.
template <class Work>
void for_chunks(std::int64_t rows, const Work& work) {
  at::parallel_for(0, (rows + kChunk - 1) / kChunk, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) work(c, c * kChunk, std::min(rows, (c + 1) * kChunk));
  });
}

/// sum a_i b_i.
AUGUR_FOR_EVERY_WIDTH
float dot(const float* a, const float* b, std::int64_t n) {
  std::array<float, kLanes> sums{};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t l = 0; l < kLanes; ++l) sums[l] += a[i + l] * b[i + l];
  }
  float sum = 0;
  for (const float lane : sums) sum += lane;
  for (; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

AUGUR_FOR_EVERY_WIDTH
void norm_row(const float* x, const float* weight, float factor, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] * factor * weight[i];
}

/// g becomes g weight, and the gradients of the weight grow by g x factor.
AUGUR_FOR_EVERY_WIDTH
void weigh_row(float* g, const float* x, const float* weight, float factor, std::int64_t n,
               float* grad_weight) {
  for (std::int64_t i = 0; i < n; ++i) {
    grad_weight[i] += g[i] * (x[i] * factor);
    g[i] *= weight[i];
  }
}

/// out = factor g - shrink x.
AUGUR_FOR_EVERY_WIDTH
void norm_gradient(const float* g, const float* x, float factor, float shrink, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = factor * g[i] - shrink * x[i];
}

/// With e = exp(-gate): gate and up become the gradients of silu(gate) * up.
AUGUR_FOR_EVERY_WIDTH
void gate_gradient(const float* g, const float* e, float* gate, float* up, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float s = 1 / (1 + e[i]);
    const float silu = gate[i] * s;
    const float slope = s * (1 + gate[i] * (1 - s));
    gate[i] = g[i] * up[i] * slope;
    up[i] = g[i] * silu;
  }
}

AUGUR_FOR_EVERY_WIDTH
void negative_row(const float* x, float least, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = -(x[i] < least ? least : x[i]);
}

class NormedRows : public torch::autograd::Function<NormedRows> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given,
                               const torch::Tensor& weight, double eps) {
    const std::int64_t width = weight.numel();
    const torch::Tensor x = matrix(given, width);
    const TorchRows rows(x);
    torch::Tensor out = torch::empty({rows.count(), width}, torch::kFloat32);
    torch::Tensor factors = torch::empty({rows.count()}, torch::kFloat32);
    const torch::Tensor w = weight.contiguous();
    const auto* by = w.data_ptr<float>();
    auto* factor = factors.data_ptr<float>();
    for_chunks(rows.count(), [&](std::int64_t, std::int64_t first, std::int64_t end) {
      Floats row = row_of(width);
      for (std::int64_t r = first; r < end; ++r) {
        rows.read(r, 0, row);
        const float mean = dot(row.data(), row.data(), width) / static_cast<float>(width);
        factor[r] = 1 / std::sqrt(mean + static_cast<float>(eps));
        norm_row(row.data(), by, factor[r], width, out.data_ptr<float>() + r * width);
      }
    });
    context->save_for_backward({x, w, factors});
    return out.view(given.sizes());
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& grads) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &weight = saved[1], &factors = saved[2];
    const std::int64_t width = weight.numel();
    const torch::Tensor grad = matrix(grads[0].to(torch::kFloat32), width);
    const TorchRows rows(x), given(grad);
    torch::Tensor out = torch::empty_like(x);
    const TorchRows results(out);
    const auto* factor = factors.data_ptr<float>();
    torch::Tensor sums = torch::zeros({(rows.count() + kChunk - 1) / kChunk, width}, torch::kFloat32);
    for_chunks(rows.count(), [&](std::int64_t chunk, std::int64_t first, std::int64_t end) {
      Floats row = row_of(width), g = row;
      for (std::int64_t r = first; r < end; ++r) {
        rows.read(r, 0, row);
        given.read(r, 0, g);
        weigh_row(g.data(), row.data(), weight.data_ptr<float>(), factor[r], width,
                  sums.data_ptr<float>() + chunk * width);
        const float f = factor[r];
        const float shared = dot(g.data(), row.data(), width) / static_cast<float>(width);
        norm_gradient(g.data(), row.data(), f, f * f * f * shared, width, g.data());
        results.write(r, 0, g);
      }
    });
    return {out.view(grads[0].sizes()), sums.sum(0), torch::Tensor()};
  }
};

class GatedRows : public torch::autograd::Function<GatedRows> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& gate, const torch::Tensor& up) {
    const torch::Tensor a = matrix(gate, gate.size(-1)), b = matrix(up, up.size(-1));
    const TorchRows gates(a), ups(b);
    torch::Tensor out = torch::empty_like(a);
    const TorchRows results(out);
    for_chunks(gates.count(), [&](std::int64_t, std::int64_t first, std::int64_t end) {
      Floats g = row_of(gates.width()), u = g;
      for (std::int64_t r = first; r < end; ++r) {
        gates.read(r, 0, g);
        ups.read(r, 0, u);
        silu_mul(g.data(), u.data(), gates.width(), InputForm::F32, g.data());
        results.write(r, 0, g);
      }
    });
    context->save_for_backward({a, b});
    return out.view(gate.sizes());
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& grads) {
    constexpr float kLeast = -80;  // beyond, exp(-gate) is no float32, and silu is nothing
    const auto saved = context->get_saved_variables();
    const TorchRows gates(saved[0]), ups(saved[1]);
    const torch::Tensor grad = matrix(grads[0], gates.width());
    const TorchRows given(grad);
    torch::Tensor grad_gate = torch::empty_like(saved[0]), grad_up = torch::empty_like(saved[1]);
    const TorchRows gate_results(grad_gate), up_results(grad_up);
    for_chunks(gates.count(), [&](std::int64_t, std::int64_t first, std::int64_t end) {
      Floats gate = row_of(gates.width()), up = gate, g = gate, e = gate;
      for (std::int64_t r = first; r < end; ++r) {
        gates.read(r, 0, gate);
        ups.read(r, 0, up);
        given.read(r, 0, g);
        negative_row(gate.data(), kLeast, gates.width(), e.data());
        exp_row(e.data(), gates.width(), 0, 1, e.data());
        gate_gradient(g.data(), e.data(), gate.data(), up.data(), gates.width());
        gate_results.write(r, 0, gate);
        up_results.write(r, 0, up);
      }
    });
    return {grad_gate.view(grads[0].sizes()), grad_up.view(grads[0].sizes())};
  }
};

/// All heads of a row, into float32 or back: `turn` is 1, or -1 for the rotation that undoes it.
torch::Tensor turned_heads(const torch::Tensor& x, const torch::Tensor& cos, const torch::Tensor& sin,
                           float turn, torch::Dtype type) {
  const std::int64_t heads = x.size(1), width = x.size(2), dims = cos.size(1);
  const torch::Tensor in = matrix(x, heads * width);
  torch::Tensor out = torch::empty({x.size(0), heads * width}, type);
  const TorchRows rows(in), results(out);
  for_chunks(rows.count(), [&](std::int64_t, std::int64_t first, std::int64_t end) {
    Floats row = row_of(heads * width), s = row_of(dims);
    for (std::int64_t r = first; r < end; ++r) {
      rows.read(r, 0, row);
      const float* c = cos.data_ptr<float>() + r * dims;
      for (std::int64_t i = 0; i < dims; ++i)
        s[static_cast<std::size_t>(i)] = turn * sin.data_ptr<float>()[r * dims + i];
      for (std::int64_t h = 0; h < heads; ++h) rope_rotate(row.data() + h * width, c, s.data(), dims);
      results.write(r, 0, row);
    }
  });
  return out.view(x.sizes());
}

class RotatedRows : public torch::autograd::Function<RotatedRows> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, const torch::Tensor& cos,
                               const torch::Tensor& sin) {
    context->save_for_backward({cos, sin});
    context->saved_data["type"] = static_cast<std::int64_t>(x.scalar_type());
    return turned_heads(x, cos, sin, 1, torch::kFloat32);
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& grads) {
    const auto saved = context->get_saved_variables();
    const auto type = static_cast<torch::Dtype>(context->saved_data["type"].toInt());
    return {turned_heads(grads[0], saved[0], saved[1], -1, type), torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

torch::Tensor normed_rows(const torch::Tensor& x, const torch::Tensor& weight, double eps) {
  return NormedRows::apply(x, weight, eps);
}

torch::Tensor gated_rows(const torch::Tensor& gate, const torch::Tensor& up) {
  return GatedRows::apply(gate, up);
}

torch::Tensor rotated_rows(const torch::Tensor& x, const torch::Tensor& cos, const torch::Tensor& sin) {
  return RotatedRows::apply(x, cos.contiguous(), sin.contiguous());
}

}  // namespace augur
