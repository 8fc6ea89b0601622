#pragma once
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "support/temporary_folder.h"
#include "vocab/cluster_router.h"
#include "vocab/token_order.h"
#include "vocab/vocabulary_choice.h"

namespace augur::testing_support {

/// Width of a made-up drafter's states.
inline constexpr std::int64_t kPartWidth = 40;

inline Fingerprint some_target(std::int32_t vocab) {
  return {.family = "llama", .hidden = 40, .layers = 4, .vocab = vocab, .digest = "0123456789abcdef"};
}

/// A partition with clusters of very different sizes, and a random router.
inline ClusterPart some_clusters(std::int64_t vocab, std::int64_t clusters, RouterInput input,
                                 std::int64_t width = kPartWidth) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  ClusterPart part{.file = "clusters",
                   .vocab = vocab,
                   .hidden = width,
                   .clusters = clusters,
                   .router_hidden = 24,
                   .input = input,
                   .budget = {.first = 4, .second = 3, .position_aware = true}};
  for (std::int64_t i = 0; i < vocab; ++i) {
    const auto drawn = static_cast<std::int64_t>(std::abs(normal(random)) * static_cast<float>(clusters) / 3);
    part.cluster_of.push_back(static_cast<std::int32_t>(i < clusters ? i : std::min(drawn, clusters - 1)));
  }
  const auto fill = [&](std::vector<float>& values, std::int64_t count) {
    values.resize(static_cast<std::size_t>(count));
    // As a folder keeps them.
    for (float& v : values) v = to_float(to_bf16(0.3f * normal(random)));
  };
  fill(part.fc1_weight, part.router_hidden * part.inputs());
  fill(part.fc1_bias, part.router_hidden);
  fill(part.fc2_weight, clusters * part.router_hidden);
  fill(part.fc2_bias, clusters);
  return part;
}

inline std::vector<std::int64_t> some_frequencies(std::int64_t vocab) {
  std::mt19937 random(5);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(vocab));
  for (auto& c : counts) c = static_cast<std::int64_t>(random() % 50);  // many are equal
  return counts;
}

/// A list that follows the text, of a target with such a fingerprint; it lies in a folder of its own.
class HotList {
 public:
  HotList(const Fingerprint& target, std::int64_t vocab) {
    const std::filesystem::path frequencies = folder_.path() / "frequencies";
    write_token_order(frequencies, some_frequencies(vocab), {});
    choice_.emplace(VocabularySpec::parse(fmt::format("hot:{}:50", frequencies.string())), target,
                    std::span<const TokenId>());
  }
  const VocabularyChoice* choice() const { return &*choice_; }

 private:
  TemporaryFolder folder_;
  std::optional<VocabularyChoice> choice_;
};

}  // namespace augur::testing_support
