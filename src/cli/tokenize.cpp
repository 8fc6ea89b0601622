#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "cli/commands.h"
#include "cli/hub_flags.h"
#include "cli/output.h"
#include "cli/text_file.h"

namespace augur::cli {
namespace {

struct TokenizeOptions {
  std::string model;
  std::string text;
  std::string file = "-";
  bool has_text = false;
  bool json = false;
  bool pieces = false;
};

/// The bytes of a token, readable and unambiguous on one line.
std::string escaped(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      text += "\\\\";
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '\t') {
      text += "\\t";
    } else if (byte < 0x20 || byte >= 0x7f) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += c;
    }
  }
  return text;
}

int tokenize(const TokenizeOptions& options) {
  const Checkpoint checkpoint = Checkpoint::open(options.model);
  const std::unique_ptr<Tokenizer> tokenizer = checkpoint.load_tokenizer();
  const std::vector<TokenId> ids =
      tokenizer->encode(options.has_text ? options.text : read_text(options.file));

  Output out;
  if (options.pieces) {
    for (const TokenId id : ids) {
      if (!out.line(fmt::format("{}\t{}", id, escaped(tokenizer->token_bytes(id))))) break;
    }
  } else {
    const char* separator = options.json ? "," : " ";
    std::string line = options.json ? "[" : "";
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (i > 0) line += separator;
      line += std::to_string(ids[i]);
    }
    if (options.json) line += "]";
    out.line(line);
  }
  out.finish();
  return 0;
}

}  // namespace

void add_tokenize(CLI::App& app, Action& action) {
  auto options = std::make_shared<TokenizeOptions>();
  CLI::App* command = app.add_subcommand(
      "tokenize", "Print the token ids of a text. Special tokens in it are recognised, none are added");
  add_hub_flags(
      *command,
      command->add_option("-m,--model", options->model, "Hugging Face folder or GGUF file; needs no weights")
          ->required());
  auto* text = command->add_option("-p,--prompt", options->text, "The text");
  command->add_option("-f,--file", options->file, "A file with the text (default: standard input)")
      ->excludes(text);
  auto* json = command->add_flag("--json", options->json, "One JSON array");
  command->add_flag("--pieces", options->pieces, "One token a line: id, tab, its bytes (escaped)")
      ->excludes(json);
  command->callback([options, text, &action] {
    options->has_text = text->count() > 0;
    action = [options] { return tokenize(*options); };
  });
}

}  // namespace augur::cli
