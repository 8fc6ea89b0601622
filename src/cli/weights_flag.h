#pragma once
#include <string>

#include "cli/validators.h"

namespace augur::cli {

/// --weights, for WeightFormat of the library's users and WeightType of models.
template <class Weights>
CLI::Option* add_weights_choice(CLI::App& app, Weights& weights, const std::string& description) {
  return add_choice<Weights>(
      app, "--weights", weights,
      {{"auto", Weights::Auto}, {"native", Weights::Native}, {"bf16", Weights::BF16}, {"f32", Weights::F32}},
      description);
}

}  // namespace augur::cli
