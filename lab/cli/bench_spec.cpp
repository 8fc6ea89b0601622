#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "cli/engine_flags.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/prompts.h"
#include "cli/request_flags.h"
#include "cli/text_file.h"
#include "cli/tint.h"
#include "cli/validators.h"
#include "lab/cli/commands.h"
#include "lab/cli/spec_comparison.h"

namespace augur::cli {
namespace {

struct Options {
  EngineOptions engine;
  RequestFlags request;
  std::string prompt;
  std::vector<std::string> files;
  int limit = -1;
  int rounds = 1;
  std::vector<std::string> with;
  bool show = false;
  std::string json;
  std::string log;
};

// What is compared when --with does not say: what is at hand.
const std::vector<std::string> kNgramVariants = {"ngram:n-max=8", "ngram:policy=auto"};
const std::vector<std::string> kDraftVariants = {"auto:n-max=4", "auto:topk=4,depth=4,size=16",
                                                 "auto:policy=auto"};

std::vector<SpecVariant> variants_of(const Options& options) {
  std::vector<std::string> names = options.with;
  if (names.empty()) {
    names = kNgramVariants;
    if (!options.engine.draft_model.empty()) {
      names.insert(names.end(), kDraftVariants.begin(), kDraftVariants.end());
    }
  }
  names.insert(names.begin(), "plain");
  std::vector<SpecVariant> variants;
  for (const std::string& name : names) {
    variants.push_back(parse_variant(name, options.engine.speculation));
  }
  return variants;
}

std::vector<Suite> suites_of(const Options& options) {
  if (options.files.empty()) return {{"prompt", {make_request(options.request, options.prompt)}}};
  std::vector<Suite> suites;
  for (const std::string& name : options.files) {
    const PromptFile file = read_prompts(name, options.limit);
    if (!file.error.empty()) throw Error("{}", file.error);
    if (file.prompts.empty()) throw Error("{}: no prompts", name);
    Suite suite{std::filesystem::path(name).stem().string(), {}};
    for (const PromptLine& prompt : file.prompts) {
      suite.requests.push_back(make_request(options.request, prompt.text));
    }
    suites.push_back(std::move(suite));
  }
  return suites;
}

/// Streams one generation to stdout under a heading.
void show(Engine& engine, Request request, const SpecVariant& variant, Output& out) {
  request.speculation = variant.options;
  const bool color = stdout_is_terminal();
  out.line(fmt::format("---- {}", variant.name));
  engine.generate(request, [&](const TokenEvent& event) {
    return out.write(color ? tinted(event) : std::string(event.text));
  });
  out.line("\n");
}

void print(const std::vector<SpecVariant>& variants, const std::vector<SuiteFigures>& figures, Output& out) {
  for (const SuiteFigures& suite : figures) {
    out.line(fmt::format("{}: {} prompts, {} tokens", suite.suite, suite.prompts, suite.tokens));
    for (std::size_t v = 0; v < variants.size(); ++v) {
      const VariantFigures& f = suite.variants[v];
      std::string line =
          fmt::format("  {:<32} {:7.1f} tokens/s  {:5.2f} tokens a call  {:5.2f}x", variants[v].name,
                      f.tokens_per_second, f.mean_accepted_length, f.speedup);
      line += fmt::format("  {:.3f} of the best", f.share_of_best);
      if (v > 0) {
        line += fmt::format("  ({:.2f}x with the prompt's time)  {}", f.speedup_with_prompt,
                            f.different == 0 ? "same tokens" : fmt::format("{} DIFFER", f.different));
      }
      out.line(line);
      line = fmt::format("    a call: draft {:.2f}, verify {:.2f}, other {:.2f} ms; {:.1f} rows", f.draft_ms,
                         f.verify_ms, f.other_ms, f.verified_tokens);
      for (std::size_t d = 0; d < f.accepted_per_position.size(); ++d) {
        line += fmt::format("{}{:.2f}", d == 0 ? "; accepted at depth 1, 2, ..: " : " ",
                            f.accepted_per_position[d]);
      }
      out.line(line);
      if (const double oracle = f.forecasts.oracle_per_second(); v > 0 && oracle > 0) {
        out.line(fmt::format("    who knew what would be accepted: {:.1f} tokens/s", oracle));
      }
      if (const ForecastCheck& c = f.forecasts; c.steered() > 0) {
        const auto rounds = static_cast<double>(c.steered());
        out.line(fmt::format(
            "    decided: plain {:.0f}%, probes {:.0f}%; forecast {:.2f} tokens in {:.2f} ms, came {:.2f} in "
            "{:.2f}",
            100 * static_cast<double>(c.plain) / rounds, 100 * static_cast<double>(c.probed) / rounds,
            c.forecast_tokens / rounds, c.forecast_ms / rounds, c.tokens / rounds, c.ms / rounds));
      }
    }
  }
}

int bench_spec(const Options& options) {
  const std::vector<SpecVariant> variants = variants_of(options);
  std::vector<Suite> suites = suites_of(options);
  Engine engine = load_engine(options.engine);
  const InterruptGuard interrupt;
  for (Suite& suite : suites) {
    for (Request& request : suite.requests) request.cancel = &interrupt.stop();
  }

  Output out;
  if (options.show) show(engine, suites.front().requests.front(), variants.front(), out);
  RoundLog log(options.log);
  Progress progress("comparing");
  const std::vector<SuiteFigures> figures =
      compare_variants(engine, variants, suites, options.rounds, log, [&](int done, int planned) {
        progress.update(static_cast<double>(done) / planned);
        return !interrupt.interrupted();
      });
  progress.done();
  log.finish();
  if (options.show && !figures.empty()) {
    const auto& rows = figures.front().variants;
    const auto best = std::max_element(rows.begin() + 1, rows.end(), [](const auto& a, const auto& b) {
      return a.tokens_per_second < b.tokens_per_second;
    });
    show(engine, suites.front().requests.front(), variants[static_cast<std::size_t>(best - rows.begin())],
         out);
  }
  print(variants, figures, out);
  if (!options.json.empty()) {
    const nlohmann::ordered_json object = {{"cpu", cpu_model_name()},
                                           {"isa", engine.info().isa},
                                           {"threads", engine.info().threads},
                                           {"model", options.engine.model},
                                           {"draft_model", options.engine.draft_model},
                                           {"suites", to_json(variants, figures)}};
    write_text(options.json, object.dump(2) + "\n");
  }
  out.finish();
  if (interrupt.interrupted()) return kInterrupted;
  for (const SuiteFigures& suite : figures) {
    for (const VariantFigures& f : suite.variants) {
      if (f.different > 0) return 1;
    }
  }
  return 0;
}

}  // namespace

void add_bench_spec(CLI::App& bench, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand(
      "spec", "Plain decoding against drafters, interleaved: the same tokens? how much sooner?");
  add_engine_flags(*command, options->engine);
  add_request_flags(*command, options->request);
  auto* prompt = command->add_option("-p,--prompt", options->prompt, "One prompt");
  auto* files =
      command->add_option("--prompts", options->files, "Prompt files, as in generate; one suite each");
  command->add_option("--limit", options->limit, "Only the first N of each file")
      ->check(in_range(1, 1 << 30))
      ->needs(files);
  add_sampling_flags(*command, options->request.sampling);
  command->option_defaults()->group("Comparison");
  command->add_option("--rounds", options->rounds, "Runs of each prompt and variant; their median counts")
      ->check(in_range(1, 1000))
      ->capture_default_str();
  command
      ->add_option(
          "--with", options->with,
          "What to compare with plain, repeatable: drafters, then settings, as in ngram or "
          "eagle3,ngram:topk=8,depth=5,size=32 or ngram:n-max=8 (also n-min, p-min, coupling=0, policy=auto)")
      ->allow_extra_args(false);
  command->add_flag("--show", options->show,
                    "Show the text of the first prompt, plain and with the fastest variant");
  command->add_option("--json", options->json, "Write the figures to this file");
  command->add_option("--log", options->log,
                      "Write every round to this file, a line of JSON each: decided, expected, measured");
  command->callback([options, prompt, files, &action] {
    if (prompt->count() + files->count() == 0 || (prompt->count() > 0 && files->count() > 0)) {
      throw CLI::ValidationError("one of -p and --prompts says what to generate from");
    }
    action = [options] { return bench_spec(*options); };
  });
}

}  // namespace augur::cli
