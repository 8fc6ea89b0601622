#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "augur/engine.h"
#include "kernels/backend.h"

namespace augur {

// What speculation would be worth with a target that is not at hand: a CALCULATION from two measurements, the
// kernels of this machine on weights of the target's shapes, and a suite run with another target.

/// The matrices of a Llama-family model.
struct ModelShape {
  std::string name;
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t layers = 0;
  std::int64_t vocab = 0;
};

/// "1b" (Llama 3.2 1B), "8b" (Llama 3.1 8B). Error for another name.
ModelShape model_shape(std::string_view name);

/// Sum over the products of one forward pass, each measured by run_kernel_bench on random bf16 weights:
/// attention, norms and everything else are left out.
MeasuredCosts::Curve measure_shape(Backend& backend, const ModelShape& shape, const std::vector<int>& rows,
                                   int rounds, const std::function<void(double)>& progress = {});

/// For every method of a suite document: tau and rows a call as measured there, drafting (and the rest) at
/// the same share of a plain step as there. {"shape", "costs", "methods": [{"label", "tau", "rows",
/// "speedup"}]}
nlohmann::ordered_json project(const ModelShape& shape, const MeasuredCosts::Curve& costs,
                               const nlohmann::ordered_json& document);

}  // namespace augur
