#include "checkpoint/convert.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/hub_flags.h"
#include "cli/progress.h"
#include "cli/tell.h"

namespace augur::cli {
namespace {

int convert(const std::string& in, const std::string& out) {
  Progress progress("converting");
  convert_to_folder(Checkpoint::open(in), out,
                    [&](int done, int total) { progress.update(static_cast<double>(done) / total); });
  progress.done();
  tell("written: {}\n", out);
  return 0;
}

}  // namespace

void add_convert(CLI::App& app, Action& action) {
  struct Options {
    std::string in;
    std::string out;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "convert", "Write a model as a Hugging Face folder: config, bf16 weights, tokenizer, chat template");
  add_hub_flags(*command,
                command->add_option("IN", options->in, "GGUF file or Hugging Face folder")->required());
  command->add_option("OUT", options->out, "Folder to write: new or empty")->required();
  command->callback(
      [options, &action] { action = [options] { return convert(options->in, options->out); }; });
}

}  // namespace augur::cli
