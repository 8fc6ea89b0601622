// Self-distillation data: the target's own answers.
#include <fmt/ranges.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "answers.h"
#include "augur/engine.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fnv1a.h"
#include "base/philox.h"
#include "cli/hub_flags.h"
#include "cli/interrupt.h"
#include "cli/validators.h"
#include "common.h"
#include "lab/corpus/answer_cache.h"
#include "lab/corpus/contamination.h"
#include "lab/corpus/prompt_source.h"
#include "parts.h"

namespace augur {

namespace {

/// Without the weights where they are what they are by default (auto is native).
std::string settings_line(const AnswerFlags& flags) {
  const char* weights = flags.weights == WeightFormat::BF16  ? " weights bf16"
                        : flags.weights == WeightFormat::F32 ? " weights f32"
                                                             : "";
  return fmt::format("model {} temperatures {} max-prompt {} text-bytes {} max-tokens {} seed {}{}",
                     std::filesystem::path(flags.model).filename().string(),
                     fmt::join(flags.temperatures, ","), flags.max_prompt, flags.text_bytes, flags.max_tokens,
                     flags.seed, weights);
}

/// A number for a prompt, wherever its file is read and whatever came before it.
std::uint64_t key_of(const std::string& source, std::uint64_t seed) {
  Fnv1a hash;
  hash.add_bytes(source);
  const std::uint64_t key = hash.value();
  const auto mixed =
      philox4x32({static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32), 0, 0x414eu}, seed);
  return (std::uint64_t{mixed[0]} << 32) | mixed[1];
}

/// What is answered is known by its file's name, wherever that is read: two of a name would be one.
void check_names(const std::vector<std::string>& files) {
  std::map<std::string, std::string> seen;
  for (const std::string& file : files) {
    const auto [other, fresh] = seen.emplace(std::filesystem::path(file).filename().string(), file);
    if (!fresh) throw Error("--prompts: {} and {} have the same name: rename one", other->second, file);
  }
}

struct Job {
  std::string source;
  std::string domain;
};

/// What is said in a prompt.
std::string words_of(const Request& request) {
  std::string words = request.prompt;
  for (const Message& message : request.messages) words += " " + message.content;
  return words;
}

void plan(const Engine& engine, const AnswerFlags& flags, const AnswerCache& cache, std::vector<Job>& jobs,
          std::vector<Request>& requests, const std::atomic<bool>& stop) {
  Contamination excluded;
  for (const std::string& file : flags.exclude) excluded.add_file(file);
  std::int64_t left_out = 0;
  for (const std::string& file : flags.prompts) {
    std::int64_t taken = 0;
    read_training_prompts(file, flags.text_bytes, [&](TrainingPrompt prompt) {
      if (flags.limit > 0 && taken == flags.limit) return false;
      Request request;
      request.prompt = std::move(prompt.text);
      request.messages = std::move(prompt.messages);
      request.prompt_tokens = engine.prompt_tokens(request);
      const auto match = excluded.find(words_of(request));
      request.prompt.clear();
      request.messages.clear();
      if (match) {
        ++left_out;
        return true;
      }
      if (static_cast<std::int64_t>(request.prompt_tokens.size()) > flags.max_prompt) return true;
      ++taken;
      if (cache.has(prompt.source, request.prompt_tokens)) return true;
      const std::uint64_t key = key_of(prompt.source, flags.seed);
      request.sampling.temperature = flags.temperatures[key % flags.temperatures.size()];
      request.sampling.seed = key;
      request.max_tokens = flags.max_tokens;
      request.cancel = &stop;
      requests.push_back(std::move(request));
      jobs.push_back({std::move(prompt.source), std::move(prompt.domain)});
      return true;
    });
  }
  if (left_out > 0) log_line(fmt::format("{} prompts left out: near prompts of --exclude-prompts", left_out));
}

}  // namespace

int make_answers(const AnswerFlags& flags) {
  const cli::InterruptGuard interrupt;
  check_names(flags.prompts);
  AnswerCache cache(flags.out, settings_line(flags));
  EngineOptions options;
  options.model = flags.model;
  options.threads = flags.threads;
  options.weights = flags.weights;
  Engine engine(options);
  std::vector<Job> jobs;
  std::vector<Request> requests;
  plan(engine, flags, cache, jobs, requests, interrupt.stop());
  log_line(fmt::format("{} answers are there, {} to go", cache.size(), requests.size()));
  if (requests.empty()) {
    cache.sort();  // it may have been stopped just before
    return 0;
  }

  const Stopwatch clock;
  double logged_ms = 0;
  double flushed_ms = 0;
  std::int64_t tokens = 0;  // generated, those of unfinished answers included
  std::int64_t answers = 0;
  const auto progress = [&] {
    const double ms = clock.ms();
    if (ms - flushed_ms > 60e3) {
      flushed_ms = ms;
      cache.flush();
    }
    if (flags.minutes > 0 && ms > flags.minutes * 60e3) interrupt.stop() = true;
    if (ms - logged_ms < 15e3) return;
    logged_ms = ms;
    const auto left = static_cast<double>(requests.size()) - static_cast<double>(answers);
    const std::string time_left =
        answers == 0 ? "" : fmt::format(", {:.0f} min left", left / static_cast<double>(answers) * ms / 60e3);
    log_line(fmt::format("{} of {} answers, {:.0f} tokens/s{}", answers, requests.size(),
                         static_cast<double>(tokens) / ms * 1e3, time_left));
  };
  const auto on_result = [&](std::size_t index, const Result& result) {
    const Request& request = requests[index];
    const Job& job = jobs[index];
    if (result.finish_reason == FinishReason::Error)
      log_line(fmt::format("{}: {}", job.source, result.error));
    if (result.finish_reason != FinishReason::Stop && result.finish_reason != FinishReason::Length) return;
    cache.add({job.source, job.domain, request.sampling.temperature, request.prompt_tokens, result.tokens});
    ++answers;
  };
  engine.generate_many(requests, flags.parallel, on_result, [&](std::size_t, const TokenEvent& event) {
    if (event.token >= 0) ++tokens;
    progress();
    return true;
  });
  cache.flush();
  if (!interrupt.stop()) cache.sort();
  log_line(fmt::format("{} answers, {} tokens in {:.1f} s: {:.0f} tokens/s; {} answers with {} tokens in {}",
                       answers, tokens, clock.ms() / 1e3, static_cast<double>(tokens) / clock.ms() * 1e3,
                       cache.size(), cache.response_tokens(), flags.out));
  return interrupt.exit_code();
}

Part add_generate(Program& program) {
  CLI::App* sub = program.app.add_subcommand(
      "generate",
      "The target's own answers to prompts, as data for the other parts; continues what it finds");
  auto flags = std::make_shared<AnswerFlags>();
  sub->option_defaults()->always_capture_default();
  cli::add_hub_flags(
      *sub, sub->add_option("-m,--model", flags->model, "Target model: Hugging Face folder or GGUF file")
                ->required());
  sub->add_option("--prompts", flags->prompts,
                  "JSON lines with messages, turns or text (.jsonl or .jsonl.xz); repeatable")
      ->required();
  sub->add_option("--exclude-prompts", flags->exclude,
                  "Leave out what repeats these prompts (JSON lines) or comes near it; repeatable");
  sub->add_option("-o,--out", flags->out, "File of answers, one JSON object a line")->required();
  sub->add_option("--temperatures", flags->temperatures, "A prompt gets one of these")
      ->delimiter(',')
      ->check(cli::in_range(0.0, 100.0));
  sub->add_option("--limit", flags->limit, "So many prompts of each file (0: all)")
      ->check(cli::in_range<std::int64_t>(0, kMost));
  sub->add_option("--max-prompt", flags->max_prompt, "Leave out prompts of more tokens")
      ->check(cli::in_range<std::int64_t>(1, kMost));
  sub->add_option("--text-bytes", flags->text_bytes, "How much of a text record is the prompt")
      ->check(cli::in_range<std::int64_t>(1, kMost));
  sub->add_option("-n,--max-tokens", flags->max_tokens, "Longest answer")
      ->check(cli::in_range<std::int64_t>(1, kMost));
  sub->add_option("--parallel", flags->parallel, "Sequences in one forward pass")
      ->check(cli::in_range(1, 1024));
  cli::add_words(*sub, "--weights", flags->weights,
                 "In memory: native (as a GGUF file quantises them; auto), or expanded to bf16 or f32");
  sub->add_option("-t,--threads", flags->threads, "Threads (0: all cores)")->check(cli::in_range(0, 1024));
  sub->add_option("--minutes", flags->minutes, "Stop after about so long (0: never)")
      ->check(cli::in_range(0.0, kMostMinutes));
  sub->add_option("--seed", flags->seed, "Of temperatures and draws");
  return [flags] { return make_answers(*flags); };
}

}  // namespace augur
