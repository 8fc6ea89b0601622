#include "draft/lookup/datastore.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "cli/commands.h"
#include "cli/hub_flags.h"
#include "cli/output.h"
#include "cli/text_file.h"

namespace augur::cli {
namespace {

struct BuildOptions {
  std::string model;
  std::vector<std::string> files;
  std::string out;
  bool ids = false;
};

/// Adds a document for every line of token ids, as `augur tokenize` prints them.
void add_ids(DatastoreBuilder& builder, const std::string& file) {
  const std::string text = read_text(file);
  std::vector<TokenId> document;
  std::int64_t line = 1;
  const char* end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    if (*at == '\n') {
      builder.add(document);
      document.clear();
      ++line;
    }
    if (*at == '\n' || *at == ' ' || *at == '\t' || *at == '\r') {
      ++at;
      continue;
    }
    TokenId id = -1;
    const auto [rest, bad] = std::from_chars(at, end, id);
    if (bad != std::errc{} || id < 0) throw Error("{}: line {}: expected token ids", file, line);
    document.push_back(id);
    at = rest;
  }
  builder.add(document);
}

int build(const BuildOptions& options) {
  const Checkpoint checkpoint = Checkpoint::open(options.model);
  const std::unique_ptr<Tokenizer> tokenizer = checkpoint.load_tokenizer();
  DatastoreBuilder builder(*tokenizer);
  for (const std::string& file : options.files) {
    if (options.ids) {
      add_ids(builder, file);
    } else {
      builder.add(tokenizer->encode(read_text(file)));
    }
  }
  builder.write(options.out);
  Output out;
  out.line(fmt::format("{}: {} tokens, document ends included", options.out, builder.size()));
  out.finish();
  return 0;
}

}  // namespace

void add_datastore(CLI::App& app, Action& action) {
  CLI::App* datastore = app.add_subcommand("datastore", "Texts for the suffix drafter to retrieve from");
  datastore->require_subcommand(1);
  auto options = std::make_shared<BuildOptions>();
  CLI::App* command = datastore->add_subcommand("build", "Tokenize files and index them");
  add_hub_flags(
      *command,
      command->add_option("-m,--model", options->model, "Hugging Face folder or GGUF file; needs no weights")
          ->required());
  command->add_option("-f,--file", options->files, "Files, one document each")->required();
  command->add_option("-o,--out", options->out, "The datastore")->required();
  command->add_flag("--ids", options->ids, "The files hold token ids, one document a line");
  command->callback([options, &action] { action = [options] { return build(*options); }; });
}

}  // namespace augur::cli
