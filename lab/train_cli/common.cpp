#include "common.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "answers.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/hub_flags.h"
#include "cli/interrupt.h"
#include "cli/validators.h"
#include "lab/corpus/contamination.h"
#include "lab/train/device.h"
#include "lab/train/part_times.h"
#include "lab/train/torch_memory.h"
#include "lab/train/torch_ops.h"

namespace augur {

void log_line(const std::string& line) {
  fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
}

void TrainFlags::add_to(CLI::App& app, const std::string& model_help) {
  app.option_defaults()->always_capture_default();
  cli::add_hub_flags(app, app.add_option("-m,--model", model, model_help)->required());
  hub_model = app.get_option("--hf-repo");
  app.add_option("--data", data, "JSON lines to learn from (.jsonl or .jsonl.xz); repeatable");
  app.add_option(
      "--generate", generate,
      "Prompts (JSON lines) that the target answers first, into answers.jsonl in the folder of --out, "
      "which is learnt from, too; repeatable");
  app.add_option("--generate-limit", generate_limit, "So many prompts of each file of --generate (0: all)")
      ->check(cli::in_range<std::int64_t>(0, kMost));
  app.add_option("--exclude-prompts", exclude,
                 "Leave out what repeats these prompts (JSON lines) or comes near it; repeatable");
  app.add_option("-o,--out", out, "Folder for checkpoints and the result")->required();
  app.add_option("--tokens", training.total_tokens, "Length of the schedule in tokens")
      ->required()
      ->check(cli::in_range<std::int64_t>(1, kMost));
  app.add_option("--init-from", init_from, "Folder of a part trained earlier, to start from its weights");
  app.add_option("--max-length", max_length, "Cut sequences to so many tokens")
      ->check(cli::in_range<std::int64_t>(16, 1 << 17));
  app.add_option("--max-tokens-per-file", max_tokens_per_file,
                 "Read about so many tokens of each file (0: all)")
      ->check(cli::in_range<std::int64_t>(0, kMost));
  app.add_option("--minutes", minutes, "Stop with a checkpoint after so long (0: never)")
      ->check(cli::in_range(0.0, kMostMinutes));
  app.add_option("-t,--threads", threads, "Threads (0: all cores)")->check(cli::in_range(0, 1024));
  add_device(app, device);
  app.add_option("--products", products, "Type of matrix products: bfloat16, or float32, which is slower")
      ->check(CLI::IsMember({"bfloat16", "float32"}));
  app.add_option("--workers", workers,
                 "Sequences learnt from at a time (0: one for every thread; on a CUDA device one)")
      ->check(cli::in_range(0, 256));
  app.add_option("--pack-tokens", training.pack_tokens,
                 "Run sequences together up to so many tokens: more is faster and takes memory")
      ->check(cli::in_range<std::int64_t>(1, kMost));
  app.add_option("--gradient-checkpointing", gradient_checkpointing,
                 "Compute activations again in the backward pass instead of keeping them: less memory, more "
                 "time (auto: where they would not fit into the memory that is free)")
      ->check(CLI::IsMember({"auto", "on", "off"}));
  app.add_option("--target-memory", target_memory,
                 "GiB of the target's outputs to keep, so that later epochs need not compute them (0: none)")
      ->check(cli::in_range(0.0, 1e6));
  app.add_option("--step-tokens", training.step_tokens, "Tokens for one optimizer step")
      ->check(cli::in_range<std::int64_t>(1, kMost));
  app.add_option("--lr", training.learning_rate, "Peak learning rate")->check(cli::in_range(1e-12, 1e3));
  app.add_option("--final-lr", training.final_rate, "Fraction of --lr that is left at the schedule's end")
      ->check(cli::in_range(0.0, 1.0));
  app.add_flag("--learn-prompts", training.learn_prompts,
               "Learn from prompts, too, not from answers only (held-out sequences are graded by answers)");
  app.add_flag("--muon", training.muon,
               "Muon instead of AdamW for matrices between states: learns from fewer tokens");
  app.add_option("--weight-decay", training.weight_decay, "AdamW weight decay of matrices")
      ->check(cli::in_range(0.0, 1e3));
  app.add_option("--clip", training.clip, "Largest gradient norm")->check(cli::in_range(1e-12, 1e12));
  app.add_flag("--no-flash", no_flash,
               "On a GPU: attention by matrices of scores, not libtorch's flash attention");
  app.add_flag("--time-parts", time_parts, "Log what the time goes to (and take a little more of it)");
  app.add_option("--log-seconds", training.log_seconds, "Seconds between lines of progress")
      ->check(cli::in_range(0.0, 1e6));
  app.add_option("--seed", training.seed, "Order of the data and initial weights");
  app.add_option("--checkpoint-tokens", training.checkpoint_tokens, "Tokens between checkpoints")
      ->check(cli::in_range<std::int64_t>(1, kMost));
  app.add_option("--evaluate-tokens", training.evaluate_tokens, "Tokens between evaluations")
      ->check(cli::in_range<std::int64_t>(1, kMost));
  app.add_option("--held-out", training.held_out, "Sequences kept for evaluation")
      ->check(cli::in_range<std::int64_t>(1, kMost));
}

void add_device(CLI::App& app, std::string& device) {
  app.add_option("--device", device, "auto (a CUDA device if there is one), cpu, cuda or cuda:N");
}

namespace {

/// Whether a sequence repeats one of the prompts to exclude. Each that does is noted in the result's folder.
std::function<bool(std::span<const TokenId>, const std::string&)> repeats_prompts(
    const TrainFlags& flags, const Tokenizer& tokenizer) {
  const auto prompts = std::make_shared<Contamination>();
  for (const std::string& file : flags.exclude) prompts->add_file(file);
  const std::filesystem::path path = std::filesystem::path(flags.out) / "left_out.tsv";
  std::filesystem::create_directories(flags.out);
  const auto log = std::make_shared<std::ofstream>(path);
  if (!*log) throw Error("{}: cannot be written", path.string());
  *log << "record\tprompt\tshared_runs\truns_of_prompt\n";
  return [prompts, log, &tokenizer](std::span<const TokenId> tokens, const std::string& where) {
    const auto match = prompts->find(tokenizer.decode({tokens.begin(), tokens.end()}));
    if (match) *log << fmt::format("{}\t{}\t{}\t{}\n", where, match->prompt, match->shared, match->of);
    return match.has_value();
  };
}

}  // namespace

namespace {

/// The files to learn from, after the target's answers are there.
std::vector<std::string> data_files(const TrainFlags& flags) {
  std::vector<std::string> files = flags.data;
  if (!flags.generate.empty()) {
    const std::filesystem::path answers = std::filesystem::path(flags.out) / "answers.jsonl";
    std::filesystem::create_directories(flags.out);
    AnswerFlags wanted;
    wanted.model = flags.model;
    wanted.prompts = flags.generate;
    wanted.exclude = flags.exclude;
    wanted.out = answers.string();
    wanted.limit = flags.generate_limit;
    wanted.threads = flags.threads;
    wanted.seed = flags.training.seed;
    if (const int code = make_answers(wanted); code != 0) throw StoppedEarly{code};
    files.push_back(answers.string());
  }
  if (files.empty()) throw Error("nothing to learn from: expected --data or --generate");
  return files;
}

}  // namespace

TrainingInput read_input(const TrainFlags& flags) {
  const std::vector<std::string> files = data_files(flags);
  const torch::Device device = choose_device(flags.device);
  if (device.is_cpu()) {
    keep_tensor_memory();
  } else {
    log_line("device: " + device.str());
  }
  set_product_type(flags.products == "float32" ? torch::kFloat32 : torch::kBFloat16);
  if (flags.no_flash) without_flash_attention();
  if (flags.time_parts) time_parts();
  if (flags.threads > 0) at::set_num_threads(flags.threads);
  TrainingInput input{Checkpoint::open(flags.model), nullptr, nullptr, nullptr, {}, device, {}};
  input.tokenizer = input.checkpoint.load_tokenizer();
  if (const auto source = input.checkpoint.chat_template())
    input.chat_template = std::make_unique<ChatTemplate>(*source);
  const int eos = input.tokenizer->eos.empty() ? -1 : input.tokenizer->eos.front();
  Dataset::Options options{
      .max_length = flags.max_length, .max_tokens = flags.max_tokens_per_file, .eos = eos};
  if (!flags.exclude.empty()) options.refuses = repeats_prompts(flags, *input.tokenizer);
  input.data = std::make_unique<Dataset>(*input.tokenizer, input.chat_template.get(), options);
  Stopwatch clock;
  for (const std::string& file : files) {
    const std::int64_t sequences = input.data->size();
    const std::int64_t tokens = input.data->tokens();
    const std::int64_t left_out = input.data->left_out();
    const std::int64_t refused = input.data->refused();
    input.data->add_file(file);
    input.files.push_back(fmt::format("`{}`: {} sequences, {} tokens",
                                      std::filesystem::path(file).filename().string(),
                                      input.data->size() - sequences, input.data->tokens() - tokens));
    log_line(fmt::format("{}: {} sequences, {} tokens so far, {:.0f} s", file, input.data->size(),
                         input.data->tokens(), clock.ms() / 1e3));
    if (const std::int64_t here = input.data->refused() - refused; here > 0) {
      log_line(fmt::format("{}: {} sequences left out: near prompts of --exclude-prompts", file, here));
      input.files.back() += fmt::format(", {} left out that come near prompts of --exclude-prompts", here);
    }
    if (const std::int64_t here = input.data->left_out() - left_out; here > 0)
      log_line(fmt::format("{}: {} records left out: nothing to learn", file, here));
  }
  return input;
}

TorchLlama load_target(TrainingInput& input, const TrainFlags& flags) {
  constexpr double kGiB = 1 << 30;
  input.made_for = fingerprint_of(input.checkpoint);
  TorchLlama target(input.checkpoint, input.device,
                    input.device.is_cpu() ? TargetForward::Engine : TargetForward::Libtorch);
  if (flags.target_memory > 0) target.remember(static_cast<std::int64_t>(flags.target_memory * kGiB));
  return target;
}

DraftVocabulary draft_vocabulary(const TrainingInput& input, const TrainFlags& flags,
                                 std::int32_t target_size, const DraftVocabularyFlag& flag) {
  if (!flag.size && !flags.init_from.empty()) {
    return stored_vocabulary(std::filesystem::path(flags.init_from) / "model.safetensors", target_size);
  }
  return loss_vocabulary(input, target_size, flag.size.value_or(flag.usual));
}

void DraftVocabularyFlag::add_to(CLI::App& app) {
  app.add_option("--draft-vocab", size,
                 fmt::format("Tokens in the draft vocabulary (0: the target's; default: what --init-from "
                             "drafts, without it {})",
                             usual))
      ->check(cli::in_range(0, 1 << 30));
}

void add_loss_vocabulary(CLI::App& app, std::int32_t& size) {
  app.add_option("--loss-vocab", size,
                 "Learn the distribution over so many frequent tokens only, which is faster (0: all)")
      ->check(cli::in_range(0, 1 << 30));
}

DraftVocabulary loss_vocabulary(const TrainingInput& input, std::int32_t target_size, std::int32_t size) {
  if (size == 0 || size == target_size) return DraftVocabulary(target_size);
  return {target_size, frequent_tokens(*input.data, target_size, size, input.tokenizer->eos)};
}

int train_learner(const std::function<std::unique_ptr<Learner>()>& make, const TrainingInput& input,
                  const TrainFlags& flags, const std::string& command) {
  const cli::InterruptGuard interrupt;
  std::vector<std::unique_ptr<Learner>> learners;
  const int workers = flags.workers > 0 ? flags.workers : input.device.is_cpu() ? at::get_num_threads() : 1;
  while (std::ssize(learners) < workers) learners.push_back(make());
  if (input.made_for) learners[0]->made_for(*input.made_for);
  Learner& learner = *learners[0];
  if (!flags.init_from.empty()) learner.load(flags.init_from);
  const bool of_hub = flags.hub_model->count() > 0;
  const CardFacts facts{.target = of_hub ? flags.hub_model->results().back()
                                         : std::filesystem::path(flags.model).filename().string(),
                        .data = input.files,
                        .command = command};
  TrainingOptions training = flags.training;
  training.gradient_checkpointing = flags.gradient_checkpointing == "on"    ? GradientCheckpointing::On
                                    : flags.gradient_checkpointing == "off" ? GradientCheckpointing::Off
                                                                            : GradientCheckpointing::Auto;
  TrainingRun run(learner, *input.data, training, flags.out, facts, log_line);
  for (std::size_t w = 1; w < learners.size(); ++w) run.add_worker(*learners[w]);
  if (run.tokens() < flags.training.total_tokens) log_line(run.needs().summary());
  Stopwatch clock;
  const bool finished = run.train(
      [&] { return interrupt.stop().load() || (flags.minutes > 0 && clock.ms() > flags.minutes * 60e3); });
  if (!finished) log_line("stopped early; the same command continues from the checkpoint");
  return interrupt.exit_code();
}

}  // namespace augur
