#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "unit/policy/part_fixture.h"

namespace augur::testing_support {

inline std::vector<float> random_values(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-0.5f, 0.5f);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

/// Policies' parts with random weights, for drafters whose states have `hidden` values: what they decide is
/// arbitrary, and differs from round to round. `name` keeps the folders of several tests apart.
struct RandomParts {
  RandomParts(const std::string& name, std::int64_t hidden)
      : c2t(name + "_c2t"), acceptance(name + "_acceptance"), hetero(name + "_hetero") {
    c2t.config({{"augur_part", "c2t"}, {"format", 1}, {"features", {"P", "H", "d"}}, {"hidden", 8}});
    c2t.tensors({{"fc1.weight", {8, 3}, random_values(24, 1)},
                 {"fc1.bias", {8}, random_values(8, 2)},
                 {"fc2.weight", {1, 8}, random_values(8, 3)},
                 {"fc2.bias", {1}, {0.2f}}});
    acceptance.config({{"augur_part", "acceptance"}, {"format", 1}, {"hidden", hidden}, {"blocks", 1}});
    acceptance.tensors({{"blocks.0.weight", {hidden, hidden}, random_values(hidden * hidden, 4)},
                        {"blocks.0.bias", {hidden}, random_values(hidden, 5)},
                        {"head.weight", {1, hidden}, random_values(hidden, 6)},
                        {"head.bias", {1}, {1.0f}}});
    nlohmann::json bin = {{"low", 0}, {"high", 100}, {"mean_tcr", 1}, {"count", 1}};
    hetero.config({{"augur_part", "hetero"},
                   {"format", 1},
                   {"levels", 3},
                   {"thresholds", {1.0, 3.0, 6.0, 8.0}},
                   {"bins", {bin, bin, bin, bin, bin}},
                   {"top_k", 10},
                   {"depth", 3}});
  }
  PartFiles c2t;
  PartFiles acceptance;
  PartFiles hetero;
};

}  // namespace augur::testing_support
