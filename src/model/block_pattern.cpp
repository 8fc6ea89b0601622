#include "model/block_pattern.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "model/config_bounds.h"

namespace augur {

namespace {

struct Spelling {
  PatternBlock block;
  char letter;             ///< of hybrid_override_pattern
  std::string_view word;   ///< of layers_block_type
  std::string_view older;  ///< the same before transformers 5.19
};
constexpr Spelling kSpellings[] = {
    {PatternBlock::Recurrence, 'M', "linear_attention", "mamba"},
    {PatternBlock::Attention, '*', "full_attention", "attention"},
    {PatternBlock::Dense, '-', "mlp", "mlp"},
    {PatternBlock::Experts, 'E', "moe", "moe"},
};

template <class Fits>
std::optional<PatternBlock> find(const Fits& fits) {
  const auto* const found = std::find_if(std::begin(kSpellings), std::end(kSpellings), fits);
  return found == std::end(kSpellings) ? std::nullopt : std::optional(found->block);
}

std::vector<PatternBlock> read_words(const JsonFields& fields, const char* key, const nlohmann::json& list) {
  if (!list.is_array()) fields.fail(key, "expected a list of layers");
  std::vector<PatternBlock> blocks;
  for (const nlohmann::json& word : list) {
    const auto block = find([&](const Spelling& s) { return word == s.word || word == s.older; });
    if (!block) {
      fields.fail(key,
                  fmt::format("{} is not supported (linear_attention, full_attention, mlp, moe)",
                              word.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)),
                  ErrorKind::Unsupported);
    }
    blocks.push_back(*block);
  }
  return blocks;
}

std::vector<PatternBlock> read_letters(const JsonFields& fields, const char* key, std::string_view letters) {
  std::vector<PatternBlock> blocks;
  for (const char letter : letters) {
    const auto block = find([&](const Spelling& s) { return letter == s.letter; });
    if (!block)
      fields.fail(key, fmt::format("{:?} is not supported (M, *, -, E)", letter), ErrorKind::Unsupported);
    blocks.push_back(*block);
  }
  return blocks;
}

}  // namespace

std::vector<PatternBlock> read_block_pattern(const JsonFields& fields) {
  const char* key = "layers_block_type";
  std::vector<PatternBlock> blocks;
  if (const nlohmann::json* list = fields.find(key)) {
    blocks = read_words(fields, key, *list);
  } else {
    key = "hybrid_override_pattern";
    const auto letters = fields.find_string(key);
    if (!letters) fields.fail(key, "missing, and so is layers_block_type");
    blocks = read_letters(fields, key, *letters);
  }
  if (blocks.empty() || std::ssize(blocks) > kMaxLayers)
    fields.fail(key, fmt::format("{} layers: expected 1 to {}", blocks.size(), kMaxLayers));
  if (const auto stated = fields.find_int("num_hidden_layers", kMaxLayers);
      stated && *stated != std::ssize(blocks)) {
    fields.fail(
        key, fmt::format("has {} layers, num_hidden_layers says that there are {}", blocks.size(), *stated));
  }
  if (std::ranges::find(blocks, PatternBlock::Attention) == blocks.end())
    fields.fail(key, "expected a layer with attention");
  return blocks;
}

}  // namespace augur
