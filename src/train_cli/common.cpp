#include "common.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <cstdio>

#include "base/clock.h"
#include "train/torch_ops.h"

namespace augur {

namespace {

std::atomic<bool> interrupted{false};

void log_line(const std::string& line) {
  fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
}

}  // namespace

void TrainFlags::add_to(CLI::App& app) {
  app.add_option("-m,--model", model, "Target model: Hugging Face folder or GGUF file")->required();
  app.add_option("--data", data, "JSON lines to learn from (.jsonl or .jsonl.xz); repeatable")->required();
  app.add_option("-o,--out", out, "Folder for checkpoints and the result")->required();
  app.add_option("--tokens", training.total_tokens, "Length of the schedule in tokens")
      ->required()
      ->check(CLI::PositiveNumber);
  app.add_option("--max-length", max_length, "Cut sequences to so many tokens")
      ->check(CLI::Range(16, 1 << 17));
  app.add_option("--max-tokens-per-file", max_tokens_per_file,
                 "Read about so many tokens of each file (0: all)");
  app.add_option("--minutes", minutes, "Stop with a checkpoint after so long (0: never)");
  app.add_option("-t,--threads", threads, "Threads (0: all cores)");
  app.add_option("--step-tokens", training.step_tokens, "Tokens for one optimizer step")
      ->check(CLI::PositiveNumber);
  app.add_option("--lr", training.learning_rate, "Peak learning rate")->check(CLI::PositiveNumber);
  app.add_option("--weight-decay", training.weight_decay, "AdamW weight decay of matrices");
  app.add_option("--clip", training.clip, "Largest gradient norm")->check(CLI::PositiveNumber);
  app.add_option("--seed", training.seed, "Order of the data and initial weights");
  app.add_option("--checkpoint-tokens", training.checkpoint_tokens, "Tokens between checkpoints")
      ->check(CLI::PositiveNumber);
  app.add_option("--evaluate-tokens", training.evaluate_tokens, "Tokens between evaluations")
      ->check(CLI::PositiveNumber);
  app.add_option("--held-out", training.held_out, "Sequences kept for evaluation")
      ->check(CLI::PositiveNumber);
}

TrainingInput read_input(const TrainFlags& flags) {
  keep_large_allocations();
  if (flags.threads > 0) at::set_num_threads(flags.threads);
  TrainingInput input{Checkpoint::open(flags.model), nullptr, nullptr, nullptr};
  input.tokenizer = input.checkpoint.load_tokenizer();
  if (const auto source = input.checkpoint.chat_template())
    input.chat_template = std::make_unique<ChatTemplate>(*source);
  const int eos = input.tokenizer->eos.empty() ? -1 : input.tokenizer->eos.front();
  input.data = std::make_unique<Dataset>(
      *input.tokenizer, input.chat_template.get(),
      Dataset::Options{.max_length = flags.max_length, .max_tokens = flags.max_tokens_per_file, .eos = eos});
  Stopwatch clock;
  for (const std::string& file : flags.data) {
    input.data->add_file(file);
    log_line(fmt::format("{}: {} sequences, {} tokens so far, {:.0f} s", file, input.data->size(),
                         input.data->tokens(), clock.ms() / 1e3));
  }
  return input;
}

int train_learner(Learner& learner, const TrainingInput& input, const TrainFlags& flags) {
  std::signal(SIGINT, [](int) { interrupted.store(true); });
  std::signal(SIGTERM, [](int) { interrupted.store(true); });
  TrainingRun run(learner, *input.data, flags.training, flags.out, log_line);
  Stopwatch clock;
  const bool finished = run.train(
      [&] { return interrupted.load() || (flags.minutes > 0 && clock.ms() > flags.minutes * 60e3); });
  if (!finished) log_line("stopped early; the same command continues from the checkpoint");
  return 0;
}

}  // namespace augur
