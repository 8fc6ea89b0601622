#include "lab/train/torch_ops.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "base/cpu.h"
#include "lab/train/fused_rows.h"

namespace augur {

namespace {

std::atomic<torch::Dtype> products = torch::kBFloat16;

/// Whether libtorch's own products of bfloat16 are summed in float32.
bool sums_in_float32(torch::Device device) {
  return device.is_cuda() ||
         (supported(Isa::Avx512) && at::hasMKLDNN() && at::globalContext().userEnabledMkldnn());
}

}  // namespace

torch::Dtype product_type() {
  return products;
}

void set_product_type(torch::Dtype type) {
  products = type;
}

torch::Tensor product(const torch::Tensor& a, const torch::Tensor& b) {
  const auto multiplied = [](const torch::Tensor& x, const torch::Tensor& y) {
    return x.dim() == 2 ? x.mm(y) : x.bmm(y);
  };
  if (a.scalar_type() == torch::kFloat32 || sums_in_float32(a.device())) return multiplied(a, b);
  return multiplied(a.to(torch::kFloat32), b.to(torch::kFloat32)).to(torch::kBFloat16);
}

torch::Tensor linear_rows(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias) {
  const torch::Dtype type = product_type();
  const auto typed = [&](const torch::Tensor& t) { return t.scalar_type() == type ? t : t.to(type); };
  const torch::Tensor y = product(typed(x), typed(weight).t());
  return bias.defined() ? y + bias.to(type) : y;
}

torch::Tensor shaped(const torch::Tensor& results, const LogitForm& form) {
  if (form.is_identity()) return results;
  const torch::Tensor y = results.to(torch::kFloat32) * static_cast<double>(form.scale);
  const double cap = form.cap;
  return (cap > 0 ? (y / cap).tanh() * cap : y).to(results.scalar_type());
}

torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps) {
  if (x.is_cpu()) return normed_rows(x, weight, eps);
  const torch::Tensor f = x.to(torch::kFloat32);
  return f * torch::rsqrt(f.square().mean(-1, true) + eps) * weight;
}

torch::Tensor silu_gated(const torch::Tensor& gate, const torch::Tensor& up) {
  return gate.is_cpu() ? gated_rows(gate, up) : torch::silu(gate) * up;
}

Rotation make_rotation(const RopeTable& table, const torch::Tensor& positions) {
  if (table.inverse_frequencies.empty()) return {};
  const torch::Tensor frequencies =
      torch::tensor(std::vector<double>(table.inverse_frequencies.begin(), table.inverse_frequencies.end()),
                    torch::kFloat64);
  const torch::Tensor angles =
      torch::outer(positions.to(torch::kFloat64), on_device(frequencies, positions.device()));
  const torch::Tensor both = torch::cat({angles, angles}, 1);
  return {(both.cos() * table.magnitude).to(torch::kFloat32),
          (both.sin() * table.magnitude).to(torch::kFloat32)};
}

torch::Tensor query_growth(const QueryGrowth& growth, const torch::Tensor& positions) {
  if (growth.beta == 0) return {};
  const torch::Tensor steps = positions.to(torch::kFloat64).div(static_cast<double>(growth.step)).floor();
  return (1 + growth.beta * (1 + steps).log()).to(torch::kFloat32).view({-1, 1, 1});
}

torch::Tensor rotate(const torch::Tensor& x, const Rotation& rotation) {
  if (!rotation.cos.defined()) return x.to(torch::kFloat32);
  if (x.is_cpu()) return rotated_rows(x, rotation.cos, rotation.sin);
  if (const std::int64_t dims = rotation.cos.size(1); dims < x.size(-1)) {
    return torch::cat({rotate(x.slice(-1, 0, dims), rotation), x.slice(-1, dims).to(torch::kFloat32)}, -1);
  }
  const torch::Tensor f = x.to(torch::kFloat32);
  const std::vector<torch::Tensor> halves = f.chunk(2, -1);
  const torch::Tensor turned = torch::cat({-halves[1], halves[0]}, -1);
  return f * rotation.cos.unsqueeze(1) + turned * rotation.sin.unsqueeze(1);
}

torch::Tensor causal_mask(std::int64_t length, torch::Device device, std::int64_t window) {
  const torch::Tensor hidden = torch::full({length, length}, -std::numeric_limits<float>::infinity(), device);
  torch::Tensor mask = hidden.triu(1);
  return window > 0 && window < length ? mask + hidden.tril(-window) : mask;
}

torch::Tensor on_device(const torch::Tensor& x, torch::Device device) {
  return x.device() == device ? x : x.to(device, x.scalar_type(), /*non_blocking=*/true);
}

torch::Tensor index_tensor(const std::vector<std::int64_t>& indices, torch::Device device) {
  return on_device(torch::tensor(indices, torch::kInt64), device);
}

torch::Generator keyed_generator(std::uint64_t key) {
  return at::make_generator<at::CPUGeneratorImpl>(key);
}

torch::Tensor trainable(const torch::Tensor& value, torch::Device device) {
  return value.detach().to(device, torch::kFloat32).contiguous().clone().requires_grad_(true);
}

torch::Tensor random_matrix(std::int64_t out, std::int64_t in, torch::Generator& generator) {
  return torch::randn({out, in}, generator) / std::sqrt(static_cast<double>(in));
}

}  // namespace augur
