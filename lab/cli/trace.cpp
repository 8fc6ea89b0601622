#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "cli/hub_flags.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/validators.h"
#include "decode/decoder.h"
#include "draft/detect.h"
#include "draft/registry.h"
#include "files/json_reader.h"
#include "kernels/backend.h"
#include "lab/cli/commands.h"
#include "lab/trace/mixing.h"
#include "lab/trace/recorder.h"
#include "lab/trace/target_probabilities.h"
#include "lab/trace/trace_file.h"
#include "policy/eagle2_policy.h"
#include "text/chat_template.h"
#include "text/prompt_text.h"

namespace augur::cli {
namespace {

struct Options {
  std::string model;
  std::string draft;
  std::string type;  ///< of the drafter; empty: what the draft model is
  std::vector<std::string> prompts;
  std::string out;
  std::int64_t limit = 0;
  std::int64_t max_prompt = 512;
  std::int64_t max_tokens = 128;
  double minutes = 0;
  double temperature = 0;
  std::uint64_t seed = 1;
  int threads = 0;
  double mix = 0;
  std::int64_t mixed_tokens = 32;
  bool hidden = false;
  bool target_probabilities = false;
  Eagle2Policy::Options tree{.top_k = 10, .levels = 8, .size = 60};
  int entropy_top_k = 10;
};

/// Turns the lines of prompt files into token ids.
class PromptEncoder {
 public:
  PromptEncoder(const Checkpoint& checkpoint, const Tokenizer& tokenizer, std::int32_t vocab)
      : tokenizer_(tokenizer), vocab_(vocab) {
    if (const auto source = checkpoint.chat_template()) template_ = std::make_unique<ChatTemplate>(*source);
  }

  std::vector<TokenId> encode(const std::string& line, const std::string& where) const {
    const nlohmann::json record = parse_json(line, where);
    if (record.is_object()) {
      if (const auto ids = record.find("prompt_ids"); ids != record.end()) return check(*ids, where);
      if (const auto turns = record.find("turns");
          turns != record.end() && turns->is_array() && !turns->empty() && turns->front().is_string()) {
        return chat({{"user", turns->front().get<std::string>()}}, where);
      }
      if (const auto messages = record.find("messages"); messages != record.end()) {
        return chat(conversation(*messages, where), where);
      }
    }
    throw Error("{}: expected an object with \"prompt_ids\", \"turns\" or \"messages\"", where);
  }

 private:
  std::vector<TokenId> check(const nlohmann::json& ids, const std::string& where) const {
    std::vector<TokenId> tokens;
    if (!ids.is_array() || ids.empty()) throw Error("{}: prompt_ids: expected a list of token ids", where);
    for (const nlohmann::json& id : ids) {
      if (!id.is_number_integer() || id < 0 || id >= vocab_) {
        throw Error("{}: prompt_ids: expected ids from 0 to {}, found {}", where, vocab_ - 1, id.dump());
      }
      tokens.push_back(id.get<TokenId>());
    }
    return tokens;
  }

  /// Up to the last turn of an assistant, which is the target's to write.
  static std::vector<Message> conversation(const nlohmann::json& messages, const std::string& where) {
    std::vector<Message> chat;
    if (!messages.is_array()) throw Error("{}: messages: expected a list", where);
    for (const nlohmann::json& message : messages) {
      const auto text = [&](const char* key) {
        const auto value = message.is_object() ? message.find(key) : message.end();
        if (!message.is_object() || value == message.end() || !value->is_string())
          throw Error("{}: messages: {}: expected a string", where, key);
        return value->get<std::string>();
      };
      chat.push_back({text("role"), text("content")});
    }
    while (!chat.empty() && chat.back().role == "assistant") chat.pop_back();
    if (chat.empty()) throw Error("{}: messages: nothing to answer", where);
    return chat;
  }

  std::vector<TokenId> chat(const std::vector<Message>& messages, const std::string& where) const {
    if (!template_)
      throw Error("{}: the model has no chat template, so only \"prompt_ids\" can be used", where);
    return encode_chat(tokenizer_, render_chat(*template_, tokenizer_, messages, true));
  }

  const Tokenizer& tokenizer_;
  std::int32_t vocab_;
  std::unique_ptr<ChatTemplate> template_;
};

std::vector<std::vector<TokenId>> read_all(const Options& options, const PromptEncoder& encoder) {
  std::vector<std::vector<TokenId>> prompts;
  for (const std::string& file : options.prompts) {
    std::ifstream in(file);
    if (!in) throw Error("{}: cannot be read", file);
    std::string line;
    std::int64_t taken = 0;
    for (int number = 1; std::getline(in, line); ++number) {
      if (options.limit > 0 && taken == options.limit) break;
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      std::vector<TokenId> tokens = encoder.encode(line, fmt::format("{}:{}", file, number));
      if (std::ssize(tokens) > options.max_prompt) continue;
      prompts.push_back(std::move(tokens));
      ++taken;
    }
    if (in.bad()) throw Error("{}: reading failed", file);
  }
  if (prompts.empty()) throw Error("there is no prompt of at most {} tokens", options.max_prompt);
  return prompts;
}

int record(const Options& options) {
  // Order matters: the sequences use the drafter and the model, everything uses the backend.
  Backend backend(options.threads, false);
  const Checkpoint checkpoint = Checkpoint::open(options.model);
  const std::unique_ptr<Tokenizer> tokenizer = checkpoint.load_tokenizer();
  const Checkpoint draft = Checkpoint::open(options.draft);
  const DrafterType& type =
      find_drafter_type(options.type.empty() ? detect_drafter_type(draft) : options.type);
  const std::unique_ptr<Model> model = Model::load(backend, checkpoint);
  const std::unique_ptr<DrafterModel> drafters = type.load({.backend = backend,
                                                            .target = *model,
                                                            .tokenizer = *tokenizer,
                                                            .target_path = options.model,
                                                            .head = &draft,
                                                            .context = model->context()});
  const auto prompts = read_all(options, PromptEncoder(checkpoint, *tokenizer, model->config().vocab));

  TraceHeader header{.target = fingerprint_of(checkpoint),
                     .target_name = checkpoint.path().filename().string(),
                     .drafter = fmt::format("{} {}", type.name, draft.path().filename().string()),
                     .top_k = options.tree.top_k,
                     .depth = options.tree.levels,
                     .size = options.tree.size,
                     .entropy_top_k = options.entropy_top_k,
                     .temperature = options.temperature,
                     .target_probabilities = options.target_probabilities};
  std::unique_ptr<TraceWriter> writer;  // opened when the states' width is known
  Decoder decoder(*model);
  const InterruptGuard interrupt;
  Progress progress("recording");
  const Stopwatch clock;
  std::size_t done = 0;
  std::int64_t rounds = 0;
  std::int64_t tokens = 0;
  const auto over = [&] {
    return interrupt.stop().load() || (options.minutes > 0 && clock.ms() > options.minutes * 60e3);
  };
  const auto decode = [&](const std::vector<TokenId>& prompt, std::int64_t longest) {
    Recorder recorder(options.entropy_top_k, options.hidden);
    SequenceOptions how;
    how.sampling.temperature = static_cast<float>(options.temperature);
    how.sampling.seed = options.seed + done;
    how.eos = tokenizer->eos;
    how.max_tokens = longest;
    how.tree_slots = std::max<std::int64_t>(512, 2 * options.tree.size);
    const std::int64_t room = std::ssize(prompt) + longest + how.tree_slots;
    how.speculation.drafters.push_back({drafters->make({.context = std::min(model->context(), room)}),
                                        std::make_unique<Eagle2Policy>(options.tree)});
    recorder.attach(how);
    Sequence sequence(*model, prompt, std::move(how));
    Sequence* const batch[] = {&sequence};
    while (!sequence.finished()) decoder.step(batch);
    if (sequence.failure()) std::rethrow_exception(sequence.failure());
    tokens += std::ssize(sequence.generated());
    TraceSequence trace = recorder.finish(sequence);
    if (options.target_probabilities) add_target_probabilities(*model, trace);
    return trace;
  };
  const auto write = [&](const TraceSequence& trace) {
    if (!writer) {
      for (const TraceRound& round : trace.rounds) {
        if (!round.stateful.empty())
          header.hidden = static_cast<int>(round.hidden.size() / round.stateful.size());
      }
      // A first answer of a token or two has no states to tell their width from.
      if (options.hidden && header.hidden == 0) return;
      writer = std::make_unique<TraceWriter>(options.out, header);
    }
    writer->write(trace);
    rounds += std::ssize(trace.rounds);
  };
  for (; done < prompts.size() && !over(); ++done) {
    const TraceSequence trace = decode(prompts[done], options.max_tokens);
    write(trace);
    const std::vector<TokenId> mixed =
        options.mix > 0 ? mixed_beginning(trace, options.mix, options.seed + done) : std::vector<TokenId>();
    if (!mixed.empty()) write(decode(mixed, options.mixed_tokens));
    progress.update(static_cast<double>(done + 1) / static_cast<double>(prompts.size()));
  }
  progress.done();
  if (!writer)
    throw Error("nothing was recorded{}", options.hidden ? ": no drafted node has a hidden state" : "");
  writer->finish();
  Output out;
  out.line(fmt::format("{}: {} of {} prompts, {} rounds, {} tokens, {:.2f} a round, {:.1f} s", options.out,
                       done, prompts.size(), rounds, tokens,
                       rounds > 0 ? static_cast<double>(tokens) / static_cast<double>(rounds) : 0.0,
                       clock.ms() / 1e3));
  out.finish();
  return interrupt.exit_code();
}

}  // namespace

void add_trace(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "trace",
      "Record decoding: candidate trees with their features, for `augur train` (see docs/training.md)");
  command->option_defaults()->always_capture_default();
  add_hub_flags(
      *command,
      command->add_option("-m,--model", options->model, "Target model: Hugging Face folder or GGUF file")
          ->required());
  add_draft_hub_flag(
      *command, command->add_option("-d,--draft-model", options->draft, "Draft model or head")->required());
  command->add_option("--spec-type", options->type, "What it is used as (default: what it is)");
  command
      ->add_option("--prompts", options->prompts, "JSON lines with prompt_ids, turns or messages; repeatable")
      ->required();
  command->add_option("-o,--out", options->out, "The file of traces")->required();
  command->add_option("--limit", options->limit, "So many prompts of each file (0: all)")
      ->check(in_range<std::int64_t>(0, std::int64_t{1} << 40));
  command->add_option("--max-prompt", options->max_prompt, "Leave out prompts of more tokens")
      ->check(in_range<std::int64_t>(1, 1 << 20));
  command->add_option("-n,--max-tokens", options->max_tokens, "Longest answer")
      ->check(in_range<std::int64_t>(1, 1 << 20));
  command->add_option("--minutes", options->minutes, "Stop after about so long (0: never)")
      ->check(in_range(0.0, 1e6));
  command->add_option("--temp", options->temperature, "Temperature of the target")
      ->check(in_range(0.0, 100.0));
  command->add_option("--seed", options->seed, "Of the target's draws");
  command->add_option("-t,--threads", options->threads, "Threads (0: all cores)");
  command
      ->add_option(
          "--mix", options->mix,
          "Decode every answer a second time from its beginning with this share of the tokens replaced by "
          "the drafter's (acceptance head)")
      ->check(in_range(0.0, 1.0));
  command->add_option("--mixed-tokens", options->mixed_tokens, "Longest answer of those")
      ->check(in_range<std::int64_t>(1, 1 << 20));
  command->add_flag("--hidden", options->hidden, "Record the drafter's hidden states, too (acceptance head)");
  command->add_flag(
      "--target-probabilities", options->target_probabilities,
      "Record the target's probabilities of the candidates, too (acceptance head, --labels soft)");
  command->add_option("--tree-topk", options->tree.top_k, "Candidates per node, and nodes expanded per level")
      ->check(in_range(1, 1024));
  command->add_option("--tree-depth", options->tree.levels, "Levels drafted")->check(in_range(1, 64));
  command->add_option("--tree-size", options->tree.size, "Nodes verified, the root included")
      ->check(in_range(2, 4096));
  command->add_option("--entropy-topk", options->entropy_top_k, "What HeteroSpec's entropy is taken over")
      ->check(in_range(1, 1 << 20));
  command->callback([options, &action] { action = [options] { return record(*options); }; });
}

}  // namespace augur::cli
