#include "server/infill_prompt.h"

#include <array>
#include <initializer_list>
#include <string_view>

namespace augur {
namespace {

std::optional<TokenId> find(const Engine& engine, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const std::vector<TokenId> tokens = engine.tokenize_part(name);
    if (tokens.size() == 1 && engine.token_bytes(tokens[0]) == name) return tokens[0];
  }
  return std::nullopt;
}

struct Names {
  std::string_view prefix;
  std::string_view suffix;
  std::string_view middle;
};
constexpr std::array kNames = {
    Names{"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},  // Qwen, CodeGemma
    Names{"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},        // StarCoder
    Names{"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},
    Names{"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},  // DeepSeek
    Names{"▁<PRE>", "▁<SUF>", "▁<MID>"},                          // Code Llama
    Names{"<PRE>", "<SUF>", "<MID>"},
};

}  // namespace

std::optional<InfillTokens> infill_tokens(const Engine& engine) {
  for (const Names& names : kNames) {
    const auto prefix = find(engine, {names.prefix});
    const auto suffix = find(engine, {names.suffix});
    const auto middle = find(engine, {names.middle});
    if (!prefix || !suffix || !middle) continue;
    return InfillTokens{.prefix = *prefix,
                        .suffix = *suffix,
                        .middle = *middle,
                        .repository = find(engine, {"<|repo_name|>", "<repo_name>", "<reponame>"}),
                        .file = find(engine, {"<|file_sep|>", "<file_sep>", "<|file_separator|>"})};
  }
  return std::nullopt;
}

std::vector<TokenId> infill_prompt(const Engine& engine, const InfillTokens& tokens, const InfillText& text) {
  std::vector<TokenId> prompt = engine.tokenize("");  // what every text begins with
  const auto add = [&](std::string_view part) {
    const std::vector<TokenId> more = engine.tokenize_part(part);
    prompt.insert(prompt.end(), more.begin(), more.end());
  };
  const auto name_file = [&](const std::string& name) {
    prompt.push_back(*tokens.file);
    add(name + "\n");
  };
  if (!text.extra.empty() && tokens.repository) {
    prompt.push_back(*tokens.repository);
    add("myproject\n");
  }
  for (const InfillText::File& file : text.extra) {
    if (tokens.file) {
      name_file(file.name);
    } else {
      add("\n\n--- snippet ---\n\n");
    }
    add(file.text);
  }
  if (!text.extra.empty() && tokens.file) name_file("filename");
  prompt.push_back(tokens.prefix);
  add(text.prefix);
  prompt.push_back(tokens.suffix);
  add(text.suffix);
  prompt.push_back(tokens.middle);
  add(text.middle);
  return prompt;
}

}  // namespace augur
