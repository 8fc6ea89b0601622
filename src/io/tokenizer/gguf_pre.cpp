#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string_view>

#include "base/error.h"
#include "io/tokenizer/gguf.h"

namespace augur {
namespace {

constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekkenPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr GgufPreTokenizerRow kRows[] = {
    {.name = "gpt-2", .pattern = kGpt2Pattern},
    {.name = "phi-2", .pattern = kGpt2Pattern},
    {.name = "mpt", .pattern = kGpt2Pattern},
    {.name = "olmo", .pattern = kGpt2Pattern},
    {.name = "smollm", .pattern = kGpt2Pattern, .single_digits = true},
    {.name = "starcoder", .pattern = kGpt2Pattern, .single_digits = true},
    {.name = "refact", .pattern = kGpt2Pattern, .single_digits = true},
    {.name = "command-r", .pattern = kGpt2Pattern, .single_digits = true},
    {.name = "codeshell", .pattern = kGpt2Pattern, .single_digits = true},
    {.name = "llama3", .pattern = kLlama3Pattern, .ignore_merges = true, .add_bos = true},
    {.name = "llama-v3", .pattern = kLlama3Pattern, .ignore_merges = true, .add_bos = true},
    {.name = "llama-bpe", .pattern = kLlama3Pattern, .ignore_merges = true, .add_bos = true},
    // The published tokenizer normalises: with it a GGUF file and the model's folder give the same ids.
    {.name = "qwen2", .pattern = kQwen2Pattern, .nfc = true},
    {.name = "deepseek-r1-qwen", .pattern = kQwen2Pattern},
    {.name = "tekken", .pattern = kTekkenPattern, .ignore_merges = true, .add_bos = true},
};

std::unique_ptr<PreTokenizer> isolated(std::initializer_list<std::string_view> patterns,
                                       const std::string& where) {
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  for (const std::string_view pattern : patterns)
    steps.push_back(split_on(Regex(pattern, where), SplitBehavior::Isolated));
  return in_sequence(std::move(steps));
}

}  // namespace

const GgufPreTokenizerRow* find_gguf_pre_tokenizer(std::string_view name) {
  const auto* found = std::ranges::find(kRows, name, &GgufPreTokenizerRow::name);
  return found == std::end(kRows) ? nullptr : found;
}

const GgufPreTokenizerRow* find_gguf_pre_tokenizer_by_pattern(std::string_view pattern, bool single_digits,
                                                              bool nfc) {
  const auto* found = std::ranges::find_if(kRows, [&](const GgufPreTokenizerRow& row) {
    return row.pattern == pattern && row.single_digits == single_digits && row.nfc == nfc;
  });
  return found == std::end(kRows) ? nullptr : found;
}

GgufPreTokenizer gguf_pre_tokenizer(const std::string& name, const std::string& file) {
  const std::string where = file + ": tokenizer.ggml.pre";
  GgufPreTokenizer out;
  if (const GgufPreTokenizerRow* row = find_gguf_pre_tokenizer(name)) {
    out.pre_tokenizer =
        row->single_digits ? isolated({R"(\p{N})", row->pattern}, where) : isolated({row->pattern}, where);
    if (row->nfc) {
      std::vector<Normalizer::Step> steps;
      steps.emplace_back(NormalForm::Nfc);
      out.normalizer = Normalizer(std::move(steps));
    }
    out.ignore_merges = row->ignore_merges;
    out.add_bos = row->add_bos;
  } else if (name.empty() || name == "default") {
    // Files from before the name existed, and those whose converter did not recognise the tokenizer: what
    // llama.cpp makes of them.
    out.pre_tokenizer =
        isolated({R"([\p{P}\$\+<=>\^~\|]+)", kGpt2Pattern, R"(\p{N}+)", "[0-9][0-9][0-9]"}, where);
  } else {
    throw Error("{}: unknown pre-tokenizer \"{}\"", where, name);
  }
  return out;
}

}  // namespace augur
