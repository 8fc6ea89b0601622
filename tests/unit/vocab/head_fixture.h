#pragma once
#include <random>
#include <vector>

#include "model/cpu_device.h"
#include "support/temporary_folder.h"
#include "support/vocabulary_parts.h"
#include "vocab/vocabulary_head.h"

namespace augur::testing_support {

/// A drafter's last projection with random weights, and rows for it.
struct HeadProblem {
  static constexpr std::int64_t kWidth = kPartWidth;

  HeadProblem(DType type, std::int64_t entries, bool with_bias = false)
      : backend(2), matrix(type, entries, kWidth), embedding(type, entries, kWidth), norm(kWidth) {
    values.resize(static_cast<std::size_t>(entries * kWidth));
    for (float& v : values) v = normal(random);
    matrix.set_rows(0, values);
    for (float& v : values) v = normal(random);
    embedding.set_rows(0, values);
    for (float& v : norm) v = 1.0f + 0.1f * normal(random);
    if (with_bias) {
      bias.assign(static_cast<std::size_t>(matrix.panels() * PackedMatrix::kPanel), 0.0f);
      for (std::int64_t i = 0; i < entries; ++i) bias[static_cast<std::size_t>(i)] = normal(random);
    }
  }

  HeadWeights weights() {
    return {.device = &device,
            .matrix = &matrix,
            .embedding = &embedding,
            .norm = norm,
            .eps = 1e-5f,
            .bias = bias,
            .target_ids = target_ids,
            .usable = usable > 0 ? usable : matrix.n(),
            .gives_previous = true};
  }

  std::vector<HeadRow> rows(const std::vector<int>& steps) {
    states.resize(steps.size() * 2 * kWidth);
    for (float& v : states) v = normal(random);
    std::vector<HeadRow> out;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      out.push_back({.state = states.data() + 2 * i * kWidth,
                     .previous = states.data() + (2 * i + 1) * kWidth,
                     .token = static_cast<TokenId>(random() % static_cast<std::uint32_t>(matrix.n())),
                     .step = steps[i],
                     .sequence = static_cast<int>(i)});
    }
    return out;
  }

  std::mt19937 random{11};
  std::normal_distribution<float> normal;
  Backend backend;
  CpuDevice device{backend};
  PackedMatrix matrix, embedding;
  std::vector<float> norm, bias, values, states;
  std::vector<TokenId> target_ids;
  std::int64_t usable = 0;
};

}  // namespace augur::testing_support
