#include <CLI/CLI.hpp>

#include "cli/engine_flags.h"
#include "cli/validators.h"
#include "lab/cli/comparison.h"

namespace augur::cli {
namespace {

constexpr std::int64_t kQuickTokens = 48;
constexpr double kQuickMinutes = 2;
constexpr int kQuickPrompts = 6;

void add_request_flags(CLI::App& command, Comparison& c) {
  command.option_defaults()->group("Requests");
  command
      .add_option("-n,--predict", c.request.max_tokens,
                  "Tokens of an answer, at most; -1: until the model ends or the context is full")
      ->check(in_range<std::int64_t>(-1, std::int64_t{1} << 32))
      ->capture_default_str();
  command.add_option("--turns", c.request.turns, "Turns of a conversation, at most; 0: all")
      ->check(in_range(0, 1 << 20))
      ->capture_default_str();
  command.add_option("--stop", c.request.stop, "Answers end before this text; repeatable")
      ->allow_extra_args(false);
  command.add_flag("--ignore-eos", c.request.ignore_eos, "Never end by the model's own decision");
  const std::string usual = c.chat ? "" : " (default: where it has one)";
  auto* chat = command.add_flag_callback(
      "--chat", [&c] { c.chat = true; }, "Apply the model's chat template" + usual);
  command
      .add_flag_callback(
          "--no-chat", [&c] { c.chat = false; }, "Prompts as they are")
      ->excludes(chat);
  command.add_option("--system", c.request.system, "System message");
  add_sampling_flags(command, c.request.sampling);
}

void add_result_flags(CLI::App& command, Comparison& c) {
  command.option_defaults()->group("Results");
  command.add_option("--json", c.json, "Write the figures to this file; -: to stdout, nothing else")
      ->capture_default_str();
  command.add_option("--csv", c.csv,
                     "Write every run of every prompt to this file, a line each, named by prompt and method" +
                         std::string(c.json.empty() ? "" : " (default: beside --json)"));
  command.add_option("--report", c.report, "Write a self-contained HTML page");
  command.add_option("--log", c.log,
                     "Write every round to this file, a line of JSON each: decided, expected, measured");
  command.add_option(
      "--state", c.state,
      c.json.empty() ? "Keep here what has been measured, so that a run that was cut off goes on"
                     : "What has been measured, so that a run that was cut off goes on (default: the name "
                       "of --json + l)");
  command
      .add_option("--minutes", c.minutes,
                  "Stop measuring after so long; with a state, the same command goes on")
      ->check(in_range(0.0, 1e6));
  command.add_option("--analyse", c.analyse, "Prompts of every suite whose rounds are looked at")
      ->check(in_range(0, 1 << 20))
      ->capture_default_str();
  command.add_option("--samples", c.samples, "Suites whose first answer is shown token by token")
      ->check(in_range(0, 1000))
      ->capture_default_str();
  command.add_flag("--show", c.show, "Show the text of the first prompt, plain and with the fastest method");
  command.add_flag("--details,!--no-details", c.details,
                   "Below every method what is accepted by depth, and forecasts against what came");
}

}  // namespace

void add_comparison_flags(CLI::App& command, Comparison& c) {
  add_engine_flags(command, c.engine);
  add_engine_limit_flags(command, c.engine);
  command.option_defaults()->group("What is compared");
  auto* prompt = command.add_option("-p,--prompt", c.prompt, "One prompt, in place of files");
  command
      .add_option("--prompts", c.files,
                  "Prompt files, a suite each: Augur's, Spec-Bench's, EAGLE's or SPEED-Bench's form")
      ->excludes(prompt);
  command.add_option("--limit", c.limit, "Only the first N prompts of each file")
      ->check(in_range(1, 1 << 30));
  command.add_option("--parts", c.parts, "Folder of draft models, heads and policies' parts")
      ->capture_default_str();
  command.add_option("--rounds", c.rounds, "Runs of each prompt and method; medians count")
      ->check(in_range(1, 1000))
      ->capture_default_str();
  command.add_option("--seeds", c.seeds, "Texts of each prompt, with --seed and the seeds that follow it")
      ->check(in_range(1, 1000))
      ->capture_default_str();
  add_request_flags(command, c);
  add_result_flags(command, c);
}

void add_method_flags(CLI::App& command, Comparison& c) {
  command.option_defaults()->group("What is compared");
  command.add_option(
      "--methods,--with", c.methods,
      "What is compared with plain, TYPE[,TYPE...][:KEY=VALUE,...], one an argument, or @FILE with one a "
      "line; keys model (a draft "
      "model), vocab, label, keep (1: what it learns from texts stays with it for a round), policy (its "
      "settings "
      "separated by ;), topk, depth, size, n-max, n-min, p-min, tree, exit, coupling. Default: what is at "
      "hand");
  command
      .add_option(
          "--budget", c.budget,
          "Nodes that every policy drafts for, and has verified at most, in a round beside the newest "
          "token; 0: as many as its own limits say")
      ->check(in_range(0, 1024))
      ->capture_default_str();
  command.add_option(
      "--peers", c.peers,
      "Other engines to run beside: llama.cpp (its llama-server in the folder LLAMA, or on the "
      "path; with -md FILE.gguf its drafts, too), or a file with one a line, NAME: COMMAND, "
      "which starts a server of OpenAI's API; MODEL, DRAFT, THREADS, PARALLEL and PORT are in "
      "its environment (docs/benchmarks.md)");
  command.add_flag("--quick", c.quick, "Few prompts, methods and tokens: at most two minutes of measuring");
  command.parse_complete_callback([&command, &c] {
    if (!c.quick) return;
    const auto unless_given = [&](const char* flag, auto& value, auto quick) {
      if (command.get_option(flag)->count() == 0) value = quick;
    };
    unless_given("--predict", c.request.max_tokens, kQuickTokens);
    unless_given("--minutes", c.minutes, kQuickMinutes);
    unless_given("--limit", c.limit, kQuickPrompts);
    unless_given("--rounds", c.rounds, 1);
  });
}

}  // namespace augur::cli
