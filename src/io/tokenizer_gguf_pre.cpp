#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "base/error.h"
#include "io/tokenizer_gguf.h"

namespace augur {
namespace {

constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekkenPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::array<std::string_view, 3> kLlama3 = {"llama3", "llama-v3", "llama-bpe"};
constexpr std::array<std::string_view, 2> kQwen2 = {"qwen2", "deepseek-r1-qwen"};
constexpr std::array<std::string_view, 4> kGpt2 = {"gpt-2", "phi-2", "mpt", "olmo"};
constexpr std::array<std::string_view, 5> kDigitsThenGpt2 = {"smollm", "starcoder", "refact", "command-r",
                                                             "codeshell"};

std::unique_ptr<PreTokenizer> isolated(std::initializer_list<std::string_view> patterns,
                                       const std::string& where) {
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  for (const std::string_view pattern : patterns)
    steps.push_back(split_on(Regex(pattern, where), SplitBehavior::Isolated));
  return in_sequence(std::move(steps));
}

}  // namespace

GgufPreTokenizer gguf_pre_tokenizer(const std::string& name, const std::string& file) {
  const std::string where = file + ": tokenizer.ggml.pre";
  const auto among = [&](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  GgufPreTokenizer out;
  if (among(kLlama3)) {
    out.pre_tokenizer = isolated({kLlama3Pattern}, where);
    out.ignore_merges = true;
    out.add_bos = true;
  } else if (among(kQwen2)) {
    out.pre_tokenizer = isolated({kQwen2Pattern}, where);
    // The published tokenizer normalises: with it a GGUF file and the model's folder give the same ids.
    if (name == "qwen2") {
      std::vector<Normalizer::Step> steps;
      steps.emplace_back(NormalForm::Nfc);
      out.normalizer = Normalizer(std::move(steps));
    }
  } else if (name == "tekken") {
    out.pre_tokenizer = isolated({kTekkenPattern}, where);
    out.ignore_merges = true;
    out.add_bos = true;
  } else if (among(kGpt2)) {
    out.pre_tokenizer = isolated({kGpt2Pattern}, where);
  } else if (among(kDigitsThenGpt2)) {
    out.pre_tokenizer = isolated({R"(\p{N})", kGpt2Pattern}, where);
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
