#include "lab/papers/projection.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "lab/bench/cost_curve.h"
#include "lab/bench/kernel_bench.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

struct Product {
  std::int64_t k, n, times;
};

std::vector<Product> products_of(const ModelShape& s) {
  const std::int64_t qkv = (s.heads + 2 * s.kv_heads) * s.head_dim;
  return {{s.hidden, qkv, s.layers},
          {s.heads * s.head_dim, s.hidden, s.layers},
          {s.hidden, 2 * s.intermediate, s.layers},
          {s.intermediate, s.hidden, s.layers},
          {s.hidden, s.vocab, 1}};
}

}  // namespace

ModelShape model_shape(std::string_view name) {
  if (name == "1b") return {"1B (shapes of Llama 3.2 1B)", 2048, 8192, 32, 8, 64, 16, 128256};
  if (name == "8b") return {"8B (shapes of Llama 3.1 8B)", 4096, 14336, 32, 8, 128, 32, 128256};
  throw Error("there are no shapes named '{}': expected 1b or 8b", name);
}

MeasuredCosts::Curve measure_shape(Backend& backend, const ModelShape& shape, const std::vector<int>& rows,
                                   int rounds, const std::function<void(double)>& progress) {
  MeasuredCosts::Curve costs{rows, std::vector<double>(rows.size())};
  const std::vector<Product> products = products_of(shape);
  for (std::size_t i = 0; i < products.size(); ++i) {
    KernelBenchOptions options;
    options.k = products[i].k;
    options.n = products[i].n;
    options.rows = rows;
    options.rounds = rounds;
    const KernelBenchResult result = run_kernel_bench(backend, options, [&](int done, int planned) {
      if (progress)
        progress((static_cast<double>(i) + static_cast<double>(done) / planned) /
                 static_cast<double>(products.size()));
    });
    for (std::size_t r = 0; r < rows.size(); ++r) {
      costs.ms[r] += static_cast<double>(products[i].times) * result.gemm[r].ms;
    }
  }
  return costs;
}

ordered_json project(const ModelShape& shape, const MeasuredCosts::Curve& costs,
                     const ordered_json& document) {
  const ordered_json& rows = document.at("overall");
  if (rows.empty()) throw Error("the suite's document holds no figures");
  const auto per_call = [](const ordered_json& row, const char* key) {
    return row.at(key).get<double>() / std::max(row.at("calls").get<double>(), 1.0);
  };
  const double step = per_call(rows[0], "verify_ms") + per_call(rows[0], "other_ms");
  ordered_json methods = ordered_json::array();
  for (std::size_t m = 0; m < rows.size(); ++m) {
    if (document.at("methods")[m].value("peer", false)) continue;  // its costs aren't this machine's products
    const double tau = rows[m].at("tau").get<double>();
    const double verified = per_call(rows[m], "verified_tokens");
    const double draft_share = per_call(rows[m], "draft_ms") / step;
    const double plain = ms_at(costs, 1);
    const double call = ms_at(costs, verified) + draft_share * plain;
    methods.push_back({{"label", document.at("methods")[m].at("label")},
                       {"tau", tau},
                       {"rows", verified},
                       {"draft_share", draft_share},
                       {"speedup", tau * plain / call}});
  }
  ordered_json measured = ordered_json::array();
  for (std::size_t r = 0; r < costs.rows.size(); ++r) measured.push_back({costs.rows[r], costs.ms[r]});
  return {{"shape", shape.name}, {"costs", measured}, {"methods", methods}};
}

}  // namespace augur
