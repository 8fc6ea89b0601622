#pragma once
#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "lab/corpus/dataset.h"
#include "lab/train/draft_vocabulary.h"
#include "lab/train/lesson.h"
#include "lab/train/torch_llama.h"
#include "lab/train/training_run.h"

namespace augur {

/// Flags that every gradient-trained part takes. Defaults that a part wants otherwise are set before add_to.
struct TrainFlags {
  std::string model;
  const CLI::Option* hub_model = nullptr;  ///< that names it in the place of a path
  std::vector<std::string> data;
  std::vector<std::string> generate;  ///< files of prompts whose answers are made first, and learnt from
  std::int64_t generate_limit = 0;    ///< prompts of each of them; 0: all
  std::vector<std::string> exclude;   ///< files of prompts that no sequence of the data may repeat
  std::string out;
  std::string init_from;
  std::int64_t max_length = 512;
  std::int64_t max_tokens_per_file = 0;
  double minutes = 0;  ///< stop (with a checkpoint) after so long; 0: run to the end
  int threads = 0;
  int workers = 0;  ///< sequences at a time; 0: one for every thread, on a CUDA device one
  std::string device = "auto";
  std::string products = "bfloat16";            ///< their type
  std::string gradient_checkpointing = "auto";  ///< or on, off
  bool no_flash = false;
  bool time_parts = false;
  double target_memory = 0;  ///< GiB of the target's outputs that later epochs find again
  TrainingOptions training;

  void add_to(CLI::App& app,
              const std::string& model_help = "Target model: Hugging Face folder or GGUF file");
};

/// --draft-vocab: tokens that a part drafts; 0: the target's whole vocabulary.
struct DraftVocabularyFlag {
  std::optional<std::int32_t> size;
  std::int32_t usual = 0;  ///< where no size is given, nor a part to start from

  void add_to(CLI::App& app);
};

/// Flags of a part whose learner takes `Options`.
template <class Options>
struct PartFlags {
  TrainFlags common;
  std::int32_t vocab = 0;  ///< tokens that its loss looks at; 0: all
  DraftVocabularyFlag draft_vocab;
  Options part;
};

/// An interrupt ended the work before anything was trained; the same command goes on.
struct StoppedEarly {
  int exit_code;
};

/// The target with its tokenised data.
struct TrainingInput {
  Checkpoint checkpoint;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<ChatTemplate> chat_template;
  std::unique_ptr<Dataset> data;
  std::vector<std::string> files;       ///< what was read, for the card
  torch::Device device;                 ///< that everything shall be on
  std::optional<Fingerprint> made_for;  ///< what config.json will name; see load_target
};
/// Makes answers first where they are asked for: StoppedEarly where an interrupt ended that.
TrainingInput read_input(const TrainFlags& flags);
/// The target on the input's device. What is trained is made for it from now on.
TorchLlama load_target(TrainingInput& input, const TrainFlags& flags);

/// What flags take at most.
inline constexpr std::int64_t kMost = std::int64_t{1} << 48;
inline constexpr double kMostMinutes = 1e6;

void add_device(CLI::App& app, std::string& device);

/// So many tokens as the flag says, those that the data lets expect most often; where it is not given, what
/// --init-from drafts.
DraftVocabulary draft_vocabulary(const TrainingInput& input, const TrainFlags& flags,
                                 std::int32_t target_size, const DraftVocabularyFlag& flag);

/// For parts that draft with the target's own head: what the loss looks at.
void add_loss_vocabulary(CLI::App& app, std::int32_t& size);
/// The `size` most frequent tokens of the data; 0: all.
DraftVocabulary loss_vocabulary(const TrainingInput& input, std::int32_t target_size, std::int32_t size);

/// Trains what `make` makes on the input's device, once for every worker, until the schedule, the minutes or
/// an interrupt end it. Returns the exit status.
int train_learner(const std::function<std::unique_ptr<Learner>()>& make, const TrainingInput& input,
                  const TrainFlags& flags, const std::string& command);

/// Trains a part that is fed the target's states at several layers and has a draft vocabulary of its own.
template <class Drafter>
int train_on_taps(PartFlags<typename Drafter::Options>& flags, const std::string& command) {
  TrainingInput input = read_input(flags.common);
  const TorchLlama target = load_target(input, flags.common);
  flags.part.seed = flags.common.training.seed;
  flags.part.taps = default_taps(target.config());
  flags.part.tap_scales = tap_scales(target, *input.data, flags.part.taps);
  const DraftVocabulary vocabulary =
      draft_vocabulary(input, flags.common, target.config().vocab, flags.draft_vocab);
  return train_learner([&] { return std::make_unique<Drafter>(target, vocabulary, flags.part); }, input,
                       flags.common, command);
}

void log_line(const std::string& line);

}  // namespace augur
