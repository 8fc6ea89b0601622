#include "lab/train/torch_ops.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace augur {
namespace {

/// oneDNN is used or not, as long as this lives.
class OneDnn {
 public:
  explicit OneDnn(bool used) : before_(at::globalContext().userEnabledMkldnn()) {
    at::globalContext().setUserEnabledMkldnn(used);
  }
  ~OneDnn() { at::globalContext().setUserEnabledMkldnn(before_); }

 private:
  bool before_;
};

struct Shapes {
  std::vector<std::int64_t> a, b;
};

// As on processors with AVX-512, where oneDNN multiplies bfloat16, and on those without.
TEST(Product, IsRoundedOnce) {
  for (const bool used : {true, false}) {
    const OneDnn one_dnn(used);
    torch::Generator generator = keyed_generator(7);
    for (const auto& [a_shape, b_shape] : {Shapes{{5, 3000}, {3000, 7}}, Shapes{{3, 40, 700}, {3, 700, 9}}}) {
      const torch::Tensor a = torch::rand(a_shape, generator).to(torch::kBFloat16);
      const torch::Tensor b = torch::rand(b_shape, generator).to(torch::kBFloat16);
      for (const bool transposed : {false, true}) {  // another route through libtorch
        const torch::Tensor right = transposed ? b.transpose(-1, -2).contiguous().transpose(-1, -2) : b;
        const torch::Tensor found = product(a, right);
        ASSERT_EQ(found.scalar_type(), torch::kBFloat16);
        const torch::Tensor exact = torch::matmul(a.to(torch::kFloat64), b.to(torch::kFloat64));
        // Half a unit in the last of 8 bits, and a little for the roundings of the sum itself.
        const torch::Tensor error = ((found.to(torch::kFloat64) - exact) / exact).abs();
        EXPECT_LT(error.max().item<double>(), 1.01 / 256)
            << "oneDNN " << used << ", transposed " << transposed;
      }
    }
  }
}

}  // namespace
}  // namespace augur
