// Heads of the EAGLE kind.
#include <memory>

#include "common.h"
#include "parts.h"
#include "train/eagle3_learner.h"
#include "train/eagle_learner.h"
#include "train/mtp_learner.h"

namespace augur {

namespace {

struct Eagle3Flags {
  TrainFlags common;
  std::int32_t draft_vocab = 12288;
  Eagle3Learner::Options head;
};
struct EagleFlags {
  TrainFlags common;
  std::int32_t loss_vocab = 0;
  EagleLearner::Options head;
};
struct MtpFlags {
  TrainFlags common;
  std::int32_t loss_vocab = 0;
  MtpLearner::Options head;
};

void add_unroll(CLI::App& sub, UnrollOptions& unroll) {
  sub.add_option("--unroll", unroll.steps, "Steps that the head runs on its own outputs")
      ->check(CLI::Range(1, 16));
  sub.add_option("--decay", unroll.decay, "Weight of step i is decay^i")->check(CLI::Range(0.0, 1.0));
}

}  // namespace

Part add_eagle3(Program& program) {
  CLI::App* sub = program.app.add_subcommand("eagle3", "EAGLE-3 draft head, by training-time test");
  auto flags = std::make_shared<Eagle3Flags>();
  flags->common.add_to(*sub);
  sub->add_option("--draft-vocab", flags->draft_vocab, "Tokens in the draft vocabulary (0: the target's)")
      ->check(CLI::NonNegativeNumber);
  add_unroll(*sub, flags->head.unroll);
  return [flags, &program] {
    TrainingInput input = read_input(flags->common);
    const TorchLlama target = load_target(input, flags->common);
    flags->head.seed = flags->common.training.seed;
    flags->head.taps = default_taps(target.config());
    flags->head.tap_scales = tap_scales(target, *input.data, flags->head.taps);
    const DraftVocabulary vocabulary =
        draft_vocabulary(input, flags->common, target.config().vocab, flags->draft_vocab);
    return train_learner([&] { return std::make_unique<Eagle3Learner>(target, vocabulary, flags->head); },
                         input, flags->common, program.command);
  };
}

Part add_eagle(Program& program) {
  CLI::App* sub = program.app.add_subcommand("eagle", "EAGLE-1/2 draft head: learns the target's next state");
  auto flags = std::make_shared<EagleFlags>();
  flags->common.add_to(*sub);
  sub->add_option("--state-weight", flags->head.state_weight, "Weight of the loss on states");
  sub->add_option("--cross-entropy", flags->head.cross_entropy, "Weight of the loss on distributions");
  add_loss_vocabulary(*sub, flags->loss_vocab);
  sub->add_option("--noise", flags->head.noise, "Uniform noise on input states")
      ->check(CLI::NonNegativeNumber);
  return [flags, &program] {
    TrainingInput input = read_input(flags->common);
    const TorchLlama target = load_target(input, flags->common);
    flags->head.seed = flags->common.training.seed;
    flags->head.vocabulary = loss_vocabulary(input, target.config().vocab, flags->loss_vocab);
    return train_learner([&] { return std::make_unique<EagleLearner>(target, flags->head); }, input,
                         flags->common, program.command);
  };
}

Part add_mtp(Program& program) {
  CLI::App* sub = program.app.add_subcommand("mtp", "Multi-token prediction layer (FastMTP's form)");
  auto flags = std::make_shared<MtpFlags>();
  flags->common.add_to(*sub);
  add_unroll(*sub, flags->head.unroll);
  add_loss_vocabulary(*sub, flags->loss_vocab);
  return [flags, &program] {
    TrainingInput input = read_input(flags->common);
    const TorchLlama target = load_target(input, flags->common);
    flags->head.seed = flags->common.training.seed;
    flags->head.vocabulary = loss_vocabulary(input, target.config().vocab, flags->loss_vocab);
    return train_learner([&] { return std::make_unique<MtpLearner>(target, flags->head); }, input,
                         flags->common, program.command);
  };
}

}  // namespace augur
