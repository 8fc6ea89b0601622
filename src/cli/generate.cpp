#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "augur/engine.h"
#include "cli/commands.h"
#include "cli/engine_flags.h"
#include "cli/generate_many.h"
#include "cli/grammar_flags.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/plan_flags.h"
#include "cli/progress.h"
#include "cli/request_flags.h"
#include "cli/result_text.h"
#include "cli/tell.h"
#include "cli/text_file.h"
#include "cli/tint.h"
#include "cli/validators.h"

namespace augur::cli {
namespace {

struct GenerateFlags {
  EngineOptions engine;
  RequestFlags request;
  std::string prompt;
  std::string file;
  bool has_prompt = false;
  bool json = false;
  bool color = false;
  ManyOptions many;
};

/// llama.cpp, too, takes the newline that ends a text file's last line as no part of the prompt.
std::string prompt_text(const GenerateFlags& flags) {
  if (flags.has_prompt) return flags.prompt;
  std::string text = read_text(flags.file);
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

int generate_one(Engine& engine, const GenerateFlags& flags) {
  const InterruptGuard interrupt;
  Request request = make_request(flags.request, prompt_text(flags));
  Progress prefill("reading the prompt");
  request.on_prefill = [&](std::int64_t done, std::int64_t total) {
    prefill.update(static_cast<double>(done) / static_cast<double>(total));
  };
  request.cancel = &interrupt.stop();

  Output out;
  const bool color = flags.color && stdout_is_terminal();
  const Result result = engine.generate(request, [&](const TokenEvent& event) {
    prefill.done();
    return flags.json || out.write(color ? tinted(event) : std::string(event.text));
  });
  for (const std::string& warning : result.warnings) tell("\nwarning: {}", warning);
  if (flags.json) {
    out.line(to_line(to_json(result)));
  } else {
    if (stdout_is_terminal()) out.write("\n");
    tell("\n{}", to_statistics(result));
  }
  out.finish();
  return interrupt.exit_code();
}

int generate(const GenerateFlags& flags) {
  Engine engine = load_engine(flags.engine);
  return flags.many.file.empty() ? generate_one(engine, flags)
                                 : generate_many(engine, flags.request, flags.many);
}

}  // namespace

void add_generate(CLI::App& app, Action& action) {
  auto flags = std::make_shared<GenerateFlags>();
  CLI::App* command =
      app.add_subcommand("generate", "Generate text: it streams to stdout, statistics go to stderr");
  add_engine_flags(*command, flags->engine);
  add_engine_limit_flags(*command, flags->engine);
  add_request_flags(*command, flags->request);
  add_grammar_flags(*command, flags->request.grammar);
  auto* prompt = command->add_option("-p,--prompt", flags->prompt, "The prompt");
  auto* file = command->add_option("-f,--file", flags->file, "A file with the prompt; -: standard input");
  auto* prompts = command->add_option(
      "--prompts", flags->many.file,
      "JSON lines with turns, messages or prompt: runs the first turn of each, one JSON object a line");
  auto* limit = command->add_option("--limit", flags->many.limit, "Only the first N of --prompts")
                    ->check(in_range(0, 1 << 30))
                    ->type_name("N");
  auto* parallel =
      command->add_option("--parallel", flags->many.parallel, "How many of --prompts share a batch")
          ->check(in_range(1, Engine::kMostParallel))
          ->type_name("N");
  command->option_defaults()->group("Output");
  command->add_flag("--json", flags->json, "One JSON object on stdout instead of the text");
  command->add_flag("--color", flags->color, "On a terminal: tint tokens by who proposed them and how deep");
  add_sampling_flags(*command, flags->request.sampling);
  add_speculation_flags(*command, flags->engine.speculation);
  limit->needs(prompts);
  parallel->needs(prompts);
  command->callback([flags, prompt, file, prompts, &action] {
    if (prompt->count() + file->count() + prompts->count() != 1) {
      throw CLI::ValidationError("one of -p, -f and --prompts says what to generate from");
    }
    flags->has_prompt = prompt->count() > 0;
    action = [flags] { return generate(*flags); };
  });
}

}  // namespace augur::cli
