#pragma once
#include <cmath>
#include <filesystem>
#include <random>
#include <span>
#include <vector>

#include "files/safetensors_writer.h"

namespace augur::testing_support {

/// A file with these tensors of float32. Their values are random, and sharper than at an untrained model's
/// start, so that greedy texts differ; vectors are about 1, of recurrences' decays about -2.
inline void write_random_tensors(const std::filesystem::path& file,
                                 const std::vector<SafetensorsWriter::Entry>& entries) {
  SafetensorsWriter writer(file, entries);
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (const SafetensorsWriter::Entry& entry : entries) {
    const bool norm = entry.shape.size() == 1;
    std::int64_t count = 1;
    for (const std::int64_t extent : entry.shape) count *= extent;
    std::vector<float> values(static_cast<std::size_t>(count));
    const float size = 2.0f / std::sqrt(static_cast<float>(entry.shape.back()));
    // States of recurrences with logarithms about 1 would forget at once.
    const float mean = entry.name.ends_with("A_log") ? -2.0f : 1.0f;
    for (float& v : values) v = norm ? mean + 0.1f * normal(random) : size * normal(random);
    writer.write(std::as_bytes(std::span<const float>(values)));
  }
  writer.finish();
}

}  // namespace augur::testing_support
