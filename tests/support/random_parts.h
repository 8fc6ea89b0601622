#pragma once
#include <cstdint>
#include <filesystem>
#include <random>
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

/// A part with random weights for every policy that has one, under `parts` as in a drafter's folder, for
/// drafters whose states have `hidden` values: what they decide is arbitrary, and differs from round to
/// round.
inline void write_random_parts(const std::filesystem::path& parts, std::int64_t hidden) {
  const auto folder = [&](const char* kind) {
    std::filesystem::create_directory(parts / kind);
    return parts / kind;
  };
  const auto c2t = folder("c2t");
  write_part_config(c2t,
                    {{"augur_part", "c2t"}, {"format", 1}, {"features", {"P", "H", "d"}}, {"hidden", 8}});
  write_part_tensors(c2t, {{"fc1.weight", {8, 3}, random_values(24, 1)},
                           {"fc1.bias", {8}, random_values(8, 2)},
                           {"fc2.weight", {1, 8}, random_values(8, 3)},
                           {"fc2.bias", {1}, {0.2f}}});
  const auto acceptance = folder("acceptance");
  write_part_config(acceptance,
                    {{"augur_part", "acceptance"}, {"format", 1}, {"hidden", hidden}, {"blocks", 1}});
  write_part_tensors(acceptance, {{"blocks.0.weight", {hidden, hidden}, random_values(hidden * hidden, 4)},
                                  {"blocks.0.bias", {hidden}, random_values(hidden, 5)},
                                  {"head.weight", {1, hidden}, random_values(hidden, 6)},
                                  {"head.bias", {1}, {1.0f}}});
  const nlohmann::json bin = {{"low", 0}, {"high", 100}, {"mean_tcr", 1}, {"count", 1}};
  write_part_config(folder("hetero"), {{"augur_part", "hetero"},
                                       {"format", 1},
                                       {"levels", 3},
                                       {"thresholds", {1.0, 3.0, 6.0, 8.0}},
                                       {"bins", {bin, bin, bin, bin, bin}},
                                       {"top_k", 10},
                                       {"depth", 3}});
}

}  // namespace augur::testing_support
