// Whole models: a language model, and a draft model that is one.
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/validators.h"
#include "common.h"
#include "lab/train/lm_learner.h"
#include "parts.h"

namespace augur {

namespace {

struct Flags {
  TrainFlags common;
  LmShape shape;
};

Part model_part(Program& program, CLI::App* sub, const std::string& model_help, bool distil) {
  auto flags = std::make_shared<Flags>();
  TrainingOptions& training = flags->common.training;
  training.learning_rate = 1e-3;
  training.weight_decay = 0.1;
  training.clip = 1.0;
  training.step_tokens = 16384;
  flags->common.max_length = 1024;
  flags->common.add_to(*sub, model_help);
  sub->add_option("--hidden", flags->shape.hidden, "Hidden size")->check(cli::in_range(16, 1 << 16));
  sub->add_option("--intermediate", flags->shape.intermediate, "Width of the MLP")
      ->check(cli::in_range(16, 1 << 18));
  sub->add_option("--layers", flags->shape.layers, "Decoder layers")->check(cli::in_range(1, 256));
  sub->add_option("--heads", flags->shape.heads, "Attention heads")->check(cli::in_range(1, 512));
  sub->add_option("--kv-heads", flags->shape.kv_heads, "Key/value heads")->check(cli::in_range(1, 512));
  sub->add_option("--context", flags->shape.context, "Positions it is made for (0: as the other model)")
      ->check(cli::in_range<std::int64_t>(0, 1 << 30));
  return [flags, distil, &program] {
    TrainingInput input = read_input(flags->common);
    std::optional<TorchLlama> target;
    if (distil) target.emplace(load_target(input, flags->common));
    nlohmann::json like = input.checkpoint.config();
    if (!like.contains("vocab_size")) like["vocab_size"] = input.tokenizer->vocab_size();  // only a tokenizer
    const LmLearner::Options options{.shape = llama_shape(flags->shape, like, flags->common.model),
                                     .seed = flags->common.training.seed,
                                     .tokenizer = &input.checkpoint,
                                     .target = distil ? &*target : nullptr,
                                     .device = input.device};
    return train_learner([&] { return std::make_unique<LmLearner>(options); }, input, flags->common,
                         program.command);
  };
}

}  // namespace

Part add_draft(Program& program) {
  CLI::App* sub =
      program.app.add_subcommand("draft", "Small language model that learns the target's distributions");
  return model_part(program, sub, "Target model: Hugging Face folder or GGUF file", true);
}

Part add_lm(Program& program) {
  CLI::App* sub = program.app.add_subcommand("lm", "Llama-architecture language model from text and chats");
  return model_part(program, sub, "Model (or folder) whose tokenizer and chat template it gets", false);
}

}  // namespace augur
