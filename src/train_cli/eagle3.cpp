#include <memory>

#include "common.h"
#include "parts.h"
#include "train/eagle3_learner.h"

namespace augur {

namespace {
struct Flags {
  TrainFlags common;
  std::int32_t draft_vocab = 12288;
  std::string init_from;
  Eagle3Learner::Options head;
};
}  // namespace

Part add_eagle3(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("eagle3", "EAGLE-3 draft head, by training-time test");
  auto flags = std::make_shared<Flags>();
  flags->common.add_to(*sub);
  sub->add_option("--draft-vocab", flags->draft_vocab, "Tokens in the draft vocabulary");
  sub->add_option("--unroll", flags->head.unroll, "Steps of the training-time test")
      ->check(CLI::Range(1, 16));
  sub->add_option("--decay", flags->head.decay, "Weight of step i is decay^i")->check(CLI::Range(0.0, 1.0));
  sub->add_option("--init-from", flags->init_from, "Folder of a head to start from");
  return [flags] {
    const TrainingInput input = read_input(flags->common);
    const TorchLlama target(input.checkpoint);
    flags->head.seed = flags->common.training.seed;
    flags->head.tap_scales.clear();
    for (const torch::Tensor& tap :
         target.forward((*input.data)[0].tokens, Eagle3Learner::default_aux_layers(target.config())).taps)
      flags->head.tap_scales.push_back(tap.slice(0, 1).square().mean().sqrt().item<double>());
    Eagle3Learner learner(
        target, frequent_tokens(*input.data, target.config().vocab, flags->draft_vocab, input.tokenizer->eos),
        flags->head);
    if (!flags->init_from.empty()) learner.load(flags->init_from);
    return train_learner(learner, input, flags->common);
  };
}

}  // namespace augur
