// Tokenizers for language models of one's own.
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "cli/validators.h"
#include "common.h"
#include "lab/corpus/text_source.h"
#include "lab/train/bpe_trainer.h"
#include "lab/train/sentencepiece_trainer.h"
#include "parts.h"

namespace augur {

namespace {

// ChatML, which the chat template below writes.
constexpr const char* kEnd = "<|endoftext|>";
constexpr const char* kTurnBegin = "<|im_start|>";
constexpr const char* kTurnEnd = "<|im_end|>";
constexpr const char* kChatTemplate =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + "
    "'\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

struct Flags {
  std::vector<std::string> data;
  std::string out;
  std::string type = "bpe";
  int size = 8192;
  std::int64_t max_bytes = 50'000'000;
};

void write(const std::filesystem::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

/// All texts, `max_bytes` of each file.
void read_all(const Flags& flags, const std::function<void(std::string_view)>& take) {
  for (const std::string& file : flags.data) {
    std::int64_t bytes = 0;
    read_texts(file, [&](std::string_view text) {
      take(text);
      bytes += std::ssize(text);
      return flags.max_bytes == 0 || bytes < flags.max_bytes;
    });
    log_line(fmt::format("{}: {:.1f} MB", file, static_cast<double>(bytes) / 1e6));
  }
}

void train_byte_level(const Flags& flags) {
  const std::vector<std::string> special = {kEnd, kTurnBegin, kTurnEnd};
  const int least = 256 + static_cast<int>(special.size());
  if (flags.size < least) throw Error("--size: {} tokens at least, bytes and special tokens", least);
  BpeTrainer trainer;
  read_all(flags, [&](std::string_view text) { trainer.add(text); });
  const BpeTrainer::Result result = trainer.train(static_cast<std::size_t>(flags.size - least));
  log_line(fmt::format("{} different words, {} merges", result.words, result.merges.size()));
  write(std::filesystem::path(flags.out) / "tokenizer.json",
        BpeTrainer::tokenizer_json(result, special).dump(1) + "\n");
}

void train_sentencepiece(const Flags& flags) {
  SentencePieceTrainer trainer;
  read_all(flags, [&](std::string_view text) { trainer.add(text); });
  write(std::filesystem::path(flags.out) / "tokenizer.model",
        trainer.train(
            {.pieces = static_cast<std::size_t>(flags.size), .control = {kEnd, kTurnBegin, kTurnEnd}}));
}

int train_tokenizer(const Flags& flags) {
  std::error_code error;
  std::filesystem::create_directories(flags.out, error);
  if (error) throw Error("{}: cannot be made: {}", flags.out, error.message());
  const Stopwatch clock;
  if (flags.type == "bpe") {
    train_byte_level(flags);
  } else {
    train_sentencepiece(flags);
  }
  const nlohmann::json config = {{"bos_token", kTurnBegin},
                                 {"eos_token", kTurnEnd},
                                 {"add_bos_token", false},
                                 {"chat_template", kChatTemplate}};
  write(std::filesystem::path(flags.out) / "tokenizer_config.json", config.dump(2) + "\n");
  // Read again: what was written is what models will be trained with.
  const auto tokenizer = Checkpoint::open(flags.out).load_tokenizer();
  log_line(fmt::format("{}: {} tokens, {:.1f} s", flags.out, tokenizer->vocab_size(), clock.ms() / 1e3));
  return 0;
}

}  // namespace

Part add_tokenizer(Program& program) {
  CLI::App* sub = program.app.add_subcommand("tokenizer", "Tokenizer for language models of one's own");
  auto flags = std::make_shared<Flags>();
  sub->option_defaults()->always_capture_default();
  sub->add_option("--data", flags->data, "JSON lines with text or messages (.jsonl or .jsonl.xz); repeatable")
      ->required();
  sub->add_option("-o,--out", flags->out, "Folder of the result")->required();
  sub->add_option("--type", flags->type,
                  "bpe: byte-level (tokenizer.json); sentencepiece: over characters "
                  "(tokenizer.model)")
      ->check(CLI::IsMember({"bpe", "sentencepiece"}));
  sub->add_option("--size", flags->size, "Tokens")->check(cli::in_range(64, 1 << 20));
  sub->add_option("--max-bytes", flags->max_bytes, "Read about so many bytes of each file (0: all)")
      ->check(cli::in_range<std::int64_t>(0, kMost));
  return [flags] { return train_tokenizer(*flags); };
}

}  // namespace augur
