#include "server/llamacpp/infill_prompt.h"

#include <span>
#include <string_view>

namespace augur {
namespace {

std::optional<TokenId> find(const Engine& engine, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    const std::vector<TokenId> tokens = engine.tokenize_part(name);
    if (tokens.size() == 1 && engine.token_bytes(tokens[0]) == name) return tokens[0];
  }
  return std::nullopt;
}

using Names = std::span<const std::string_view>;

// Qwen and CodeGemma, StarCoder, Granite, DeepSeek, Code Llama, GLM.
constexpr std::string_view kPrefix[] = {"<|fim_prefix|>", "<fim_prefix>", "<fim-prefix>",   "<｜fim▁begin｜>",
                                        "▁<PRE>",         "<PRE>",        "<|code_prefix|>"};
constexpr std::string_view kSuffix[] = {"<|fim_suffix|>", "<fim_suffix>", "<fim-suffix>",   "<｜fim▁hole｜>",
                                        "▁<SUF>",         "<SUF>",        "<|code_suffix|>"};
constexpr std::string_view kMiddle[] = {"<|fim_middle|>", "<fim_middle>", "<fim-middle>",   "<｜fim▁end｜>",
                                        "▁<MID>",         "<MID>",        "<|code_middle|>"};
constexpr std::string_view kRepository[] = {"<|fim_repo|>", "<|repo_name|>", "<repo_name>",
                                            "<fim-repo>",   "<reponame>",    "<REPO>"};
constexpr std::string_view kFile[] = {"<|file_sep|>", "<file_sep>", "<|file_separator|>"};

}  // namespace

std::optional<InfillTokens> infill_tokens(const Engine& engine) {
  InfillTokens tokens = engine.infill_tokens();
  const auto complete = [&](std::optional<TokenId>& token, Names names) {
    if (!token) token = find(engine, names);
  };
  complete(tokens.prefix, kPrefix);
  complete(tokens.suffix, kSuffix);
  complete(tokens.middle, kMiddle);
  complete(tokens.repository, kRepository);
  complete(tokens.file, kFile);
  if (!tokens.prefix || !tokens.suffix || !tokens.middle) return std::nullopt;
  return tokens;
}

std::vector<TokenId> infill_prompt(const Engine& engine, const InfillTokens& tokens, const InfillText& text) {
  std::vector<TokenId> prompt = engine.tokenize("");  // what every text begins with
  // As llama.cpp has it: what is around the middle is text, whatever it looks like.
  const auto add = [&](std::string_view part, bool parse_special = false) {
    const std::vector<TokenId> more = engine.tokenize_part(part, parse_special);
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
  prompt.push_back(*tokens.prefix);
  add(text.prefix);
  prompt.push_back(*tokens.suffix);
  add(text.suffix);
  prompt.push_back(*tokens.middle);
  add(text.middle, true);
  return prompt;
}

}  // namespace augur
