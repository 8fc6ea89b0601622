#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string_view>

#include "base/error.h"
#include "text/tokenizer/gguf.h"

namespace augur {
namespace {

constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekkenPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// o200k's: words may end in a contraction.
constexpr std::string_view kGpt4oPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

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
    {.name = "dbrx", .pattern = kLlama3Pattern},
    {.name = "smaug-bpe", .pattern = kLlama3Pattern},
    {.name = "gpt-4o", .pattern = kGpt4oPattern},
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

const GgufPreTokenizerRow* find_gguf_pre_tokenizer(const GgufPreTokenizerRow& like) {
  const GgufPreTokenizerRow* cuts_alike = nullptr;
  for (const GgufPreTokenizerRow& row : kRows) {
    if (row.pattern != like.pattern || row.single_digits != like.single_digits || row.nfc != like.nfc)
      continue;
    if (row.ignore_merges == like.ignore_merges) return &row;
    if (cuts_alike == nullptr) cuts_alike = &row;
  }
  return cuts_alike;
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
    std::string known = "default";
    for (const GgufPreTokenizerRow& other : kRows) known += fmt::format(", {}", other.name);
    throw Error("{}: unknown pre-tokenizer {:?} (known: {})", where, name, known);
  }
  return out;
}

}  // namespace augur
