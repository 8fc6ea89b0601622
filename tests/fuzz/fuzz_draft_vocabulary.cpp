// Draft vocabularies: frequency lists (a folder, or FR-Spec's freq_{V}.pt, known by its zip signature) and
// DynaSpec's clusters with their router. What can be read is drafted with: a head of 40 tokens projects a few
// rows.
#include <cstdlib>
#include <vector>

#include "attempt.h"
#include "model/cpu_device.h"
#include "part_folder.h"
#include "vocab/vocabulary_head.h"

namespace {

constexpr std::int32_t kTokens = 40;
constexpr std::int64_t kWidth = 16;

/// A drafter's projection: random enough.
struct Head {
  Head() : backend(1), device(backend), matrix(augur::DType::F32, kTokens, kWidth) {
    std::vector<float> values(kTokens * kWidth);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 11) - 5.0f;
    matrix.set_rows(0, values);
  }
  augur::HeadWeights weights() {
    return {.device = &device,
            .matrix = &matrix,
            .embedding = &matrix,
            .norm = {},
            .bias = {},
            .target_ids = {},
            .usable = kTokens - 1,
            .gives_previous = true};
  }

  augur::Backend backend;
  augur::CpuDevice device;
  augur::PackedMatrix matrix;
};

void draft(const augur::VocabularySpec& spec) {
  static Head head;
  const augur::Fingerprint target{
      .family = "llama", .hidden = 64, .layers = 4, .vocab = kTokens, .digest = "0"};
  const std::vector<augur::TokenId> always{2};
  const augur::VocabularyChoice choice(spec, target, always);
  augur::VocabularyHead vocabulary(head.weights(), &choice);
  std::vector<float> state(kWidth, 0.25f);
  std::vector<augur::HeadRow> rows;
  for (int i = 0; i < 4; ++i) {
    rows.push_back({.state = state.data(),
                    .previous = i % 2 == 0 ? state.data() : nullptr,
                    .token = i - 1,
                    .step = i,
                    .sequence = i / 2});
  }
  for (int round = 0; round < 3; ++round) {
    vocabulary.run(rows);
    const auto ids = vocabulary.target_ids();
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (vocabulary.count(r) < 1 || vocabulary.count(r) > kTokens) std::abort();
      if (!ids.empty() && std::ssize(ids) < vocabulary.count(r)) std::abort();
    }
    for (const augur::TokenId id : ids) {
      if (id < 0 || id >= kTokens) std::abort();
    }
    const std::vector<augur::TokenId> text{static_cast<augur::TokenId>(7 * round), 31, kTokens};
    vocabulary.saw(text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using Kind = augur::VocabularySpec::Kind;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  std::filesystem::path path;
  if (input.starts_with("PK")) {
    path = augur::fuzz::scratch_folder() / "freq.pt";
    augur::fuzz::write_file(path, input);
  } else {
    path = augur::fuzz::write_part(data, size);
  }
  for (const Kind kind : {Kind::Frequent, Kind::PositionAware, Kind::Hot, Kind::Clusters}) {
    augur::VocabularySpec spec;
    spec.kind = kind;
    spec.path = path.string();
    augur::fuzz::attempt([&] { draft(spec); });
  }
  return 0;
}
