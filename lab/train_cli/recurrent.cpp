// Heads of the EAGLE kind.
#include <memory>

#include "cli/validators.h"
#include "common.h"
#include "lab/train/eagle3_learner.h"
#include "lab/train/eagle_learner.h"
#include "lab/train/mtp_learner.h"
#include "parts.h"

namespace augur {

namespace {

using Eagle3Flags = PartFlags<Eagle3Learner::Options>;
using EagleFlags = PartFlags<EagleLearner::Options>;
using MtpFlags = PartFlags<MtpLearner::Options>;

void add_unroll(CLI::App& sub, UnrollOptions& unroll) {
  sub.add_option("--unroll", unroll.steps, "Steps that the head runs on its own outputs")
      ->check(cli::in_range(1, 16));
  sub.add_option("--decay", unroll.decay, "Weight of step i is decay^i")->check(cli::in_range(0.0, 1.0));
}

}  // namespace

Part add_eagle3(Program& program) {
  CLI::App* sub = program.app.add_subcommand("eagle3", "EAGLE-3 draft head, by training-time test");
  auto flags = std::make_shared<Eagle3Flags>();
  flags->draft_vocab.usual = 12288;
  flags->common.add_to(*sub);
  flags->draft_vocab.add_to(*sub);
  add_unroll(*sub, flags->part.unroll);
  return [flags, &program] { return train_on_taps<Eagle3Learner>(*flags, program.command); };
}

Part add_eagle(Program& program) {
  CLI::App* sub = program.app.add_subcommand("eagle", "EAGLE-1/2 draft head: learns the target's next state");
  auto flags = std::make_shared<EagleFlags>();
  flags->common.add_to(*sub);
  sub->add_option("--state-weight", flags->part.state_weight, "Weight of the loss on states")
      ->check(cli::in_range(0.0, 1e6));
  sub->add_option("--cross-entropy", flags->part.cross_entropy, "Weight of the loss on distributions")
      ->check(cli::in_range(0.0, 1e6));
  add_loss_vocabulary(*sub, flags->vocab);
  sub->add_option("--noise", flags->part.noise, "Uniform noise on input states")
      ->check(cli::in_range(0.0, 1e3));
  return [flags, &program] {
    TrainingInput input = read_input(flags->common);
    const TorchLlama target = load_target(input, flags->common);
    flags->part.seed = flags->common.training.seed;
    flags->part.vocabulary = loss_vocabulary(input, target.config().vocab, flags->vocab);
    return train_learner([&] { return std::make_unique<EagleLearner>(target, flags->part); }, input,
                         flags->common, program.command);
  };
}

Part add_mtp(Program& program) {
  CLI::App* sub = program.app.add_subcommand("mtp", "Multi-token prediction layer (FastMTP's form)");
  auto flags = std::make_shared<MtpFlags>();
  flags->common.add_to(*sub);
  add_unroll(*sub, flags->part.unroll);
  add_loss_vocabulary(*sub, flags->vocab);
  return [flags, &program] {
    TrainingInput input = read_input(flags->common);
    const TorchLlama target = load_target(input, flags->common);
    flags->part.seed = flags->common.training.seed;
    flags->part.vocabulary = loss_vocabulary(input, target.config().vocab, flags->vocab);
    flags->part.state_scales = state_scales(target, *input.data);
    return train_learner([&] { return std::make_unique<MtpLearner>(target, flags->part); }, input,
                         flags->common, program.command);
  };
}

}  // namespace augur
