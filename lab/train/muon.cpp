#include "lab/train/muon.h"

#include <algorithm>
#include <cmath>

#include "lab/train/torch_ops.h"

namespace augur {

bool is_muons(const torch::Tensor& parameter) {
  constexpr std::int64_t kFew = 16;
  return parameter.dim() == 2 && std::min(parameter.size(0), parameter.size(1)) >= kFew;
}

torch::Tensor muon_direction(const torch::Tensor& momentum) {
  constexpr double kAdamWSize = 0.2;
  constexpr int kIterations = 5;
  constexpr double a = 3.4445, b = -4.7750, c = 2.0315;  // Jordan's: steep at 0, so five iterations do
  const bool tall = momentum.size(0) > momentum.size(1);
  torch::Tensor x = tall ? momentum.t() : momentum;
  x = (x / (x.norm() + 1e-7)).to(torch::kBFloat16);
  for (int i = 0; i < kIterations; ++i) {
    const torch::Tensor s = product(x, x.t());
    x = x * a + product(s * b + product(s, s) * c, x);
  }
  const auto longest = static_cast<double>(std::max(x.size(0), x.size(1)));
  return (tall ? x.t() : x).to(torch::kFloat32).mul(kAdamWSize * std::sqrt(longest));
}

}  // namespace augur
