#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "cli/hub_flags.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/validators.h"
#include "lab/cli/commands.h"
#include "lab/corpus/dataset.h"
#include "vocab/token_order.h"

namespace augur::cli {
namespace {

struct Options {
  std::string model;
  std::vector<std::string> data;
  std::string out;
  std::int64_t max_tokens = 0;
};

int train_frspec(const Options& options) {
  const Checkpoint checkpoint = Checkpoint::open(options.model);
  const std::unique_ptr<Tokenizer> tokenizer = checkpoint.load_tokenizer();
  std::optional<ChatTemplate> chat;
  if (const auto source = checkpoint.chat_template()) chat.emplace(*source);
  Dataset data(*tokenizer, chat ? &*chat : nullptr,
               {.max_length = std::int64_t{1} << 20, .max_tokens = options.max_tokens});
  Progress progress("reading");
  for (std::size_t i = 0; i < options.data.size(); ++i) {
    data.add_file(options.data[i]);
    progress.update(static_cast<double>(i + 1) / static_cast<double>(options.data.size()));
  }
  progress.done();

  std::vector<std::int64_t> counts(static_cast<std::size_t>(tokenizer->vocab_size()));
  std::int64_t counted = 0;
  for (std::int64_t i = 0; i < data.size(); ++i) {
    const Example example = data[i];
    for (std::size_t t = 0; t < example.tokens.size(); ++t) {
      if (example.learn[t] == 0) continue;
      ++counts[static_cast<std::size_t>(example.tokens[t])];
      ++counted;
    }
  }
  write_token_order(options.out, counts, {{"tokens_counted", counted}});

  Output out;
  if (data.left_out() > 0) out.line(fmt::format("{} records left out: nothing to learn", data.left_out()));
  std::int64_t seen = 0;
  for (const std::int64_t count : counts) seen += count > 0 ? 1 : 0;
  out.line(fmt::format("{}: {} tokens counted, {} of {} occur", options.out, counted, seen, counts.size()));
  const std::vector<TokenId> order = by_frequency(counts);
  for (const int part : {32, 16, 8, 4, 2}) {
    const std::size_t size = order.size() / static_cast<std::size_t>(part);
    std::int64_t covered = 0;
    for (std::size_t i = 0; i < size; ++i) covered += counts[static_cast<std::size_t>(order[i])];
    out.line(
        fmt::format("  the {:>6} most frequent are {:.2f}%", size,
                    counted > 0 ? 100.0 * static_cast<double>(covered) / static_cast<double>(counted) : 0.0));
  }
  out.finish();
  return 0;
}

}  // namespace

void add_train_frspec(CLI::App& train, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      train.add_subcommand("frspec", "Count tokens: the list of --spec-vocab frspec, pafr and hot");
  command->set_help_flag("-h,--help", "Print this help message and exit");
  add_hub_flags(
      *command,
      command->add_option("-m,--model", options->model, "Whose tokens; needs no weights")->required());
  command
      ->add_option("--data", options->data,
                   "JSON lines with text, messages, or prompt_ids and response_ids (.jsonl or .jsonl.xz); "
                   "of conversations and answers the model's part counts; repeatable")
      ->required();
  command->add_option("-o,--out", options->out, "Folder to write")->required();
  command->add_option("--max-tokens", options->max_tokens, "About so many of each file (0: all)")
      ->check(in_range<std::int64_t>(0, std::int64_t{1} << 40));
  command->callback([options, &action] { action = [options] { return train_frspec(*options); }; });
}

}  // namespace augur::cli
