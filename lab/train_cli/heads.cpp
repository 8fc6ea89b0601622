// Heads without recurrence: Medusa, Hydra, block drafters, early exits.
#include <memory>

#include "cli/validators.h"
#include "common.h"
#include "lab/train/dflash_learner.h"
#include "lab/train/early_exit_learner.h"
#include "lab/train/heads_learner.h"
#include "parts.h"

namespace augur {

namespace {

using HeadsFlags = PartFlags<HeadsLearner::Options>;
using ExitFlags = PartFlags<EarlyExitLearner::Options>;
using DflashFlags = PartFlags<DflashLearner::Options>;

Part heads_part(Program& program, CLI::App* sub, std::shared_ptr<HeadsFlags> flags) {
  flags->common.add_to(*sub);
  sub->add_option("--heads", flags->part.heads, "Heads: the depth that can be drafted")
      ->check(cli::in_range(1, 16));
  sub->add_option("--layers", flags->part.layers, "Residual blocks of a head")->check(cli::in_range(1, 16));
  sub->add_flag("--shared-head", flags->part.shares_head,
                "The target's output matrix in place of one for every head (a small file)");
  add_loss_vocabulary(*sub, flags->vocab);
  sub->add_option("--decay", flags->part.decay, "Weight of head i is decay^i")
      ->check(cli::in_range(0.0, 1.0));
  return [flags, &program] {
    TrainingInput input = read_input(flags->common);
    const TorchLlama target = load_target(input, flags->common);
    flags->part.seed = flags->common.training.seed;
    if (flags->vocab > 0)
      flags->part.vocabulary = loss_vocabulary(input, target.config().vocab, flags->vocab);
    return train_learner([&] { return std::make_unique<HeadsLearner>(target, flags->part); }, input,
                         flags->common, program.command);
  };
}

}  // namespace

Part add_medusa(Program& program) {
  CLI::App* sub = program.app.add_subcommand("medusa", "Medusa heads on the target's last state");
  return heads_part(program, sub, std::make_shared<HeadsFlags>());
}

Part add_hydra(Program& program) {
  CLI::App* sub = program.app.add_subcommand("hydra", "Hydra heads, which see the drafted tokens, too");
  auto flags = std::make_shared<HeadsFlags>();
  flags->part.grounded = true;
  sub->add_flag("--prefix", flags->part.prefix, "Hydra++: a decoder layer over the target's states");
  return heads_part(program, sub, flags);
}

Part add_early_exit(Program& program) {
  CLI::App* sub = program.app.add_subcommand(
      "early-exit", "Adapter between the target's first layers and its head (LayerSkip drafter)");
  auto flags = std::make_shared<ExitFlags>();
  flags->common.add_to(*sub);
  sub->add_option("--exit-layer", flags->part.exit_layer, "Layers of the target that draft")
      ->check(cli::in_range(1, 1 << 16));
  sub->add_option("--blocks", flags->part.blocks, "Residual blocks")->check(cli::in_range(1, 16));
  add_loss_vocabulary(*sub, flags->vocab);
  return [flags, &program] {
    TrainingInput input = read_input(flags->common);
    const TorchLlama target = load_target(input, flags->common);
    const std::int32_t vocab = target.config().vocab;
    const DraftVocabulary vocabulary =
        flags->vocab > 0 ? loss_vocabulary(input, vocab, flags->vocab) : DraftVocabulary(vocab);
    return train_learner([&] { return std::make_unique<EarlyExitLearner>(target, vocabulary, flags->part); },
                         input, flags->common, program.command);
  };
}

Part add_dflash(Program& program) {
  CLI::App* sub = program.app.add_subcommand("dflash", "DFlash block drafter; with --dspark its two heads");
  auto flags = std::make_shared<DflashFlags>();
  flags->common.add_to(*sub);
  DflashLearner::Options& head = flags->part;
  sub->add_option("--layers", head.layers, "Decoder layers")->check(cli::in_range(1, 64));
  sub->add_option("--block", head.block, "Slots of a block, the newest token's included")
      ->check(cli::in_range(2, 64));
  sub->add_option("--anchors", head.anchors, "Blocks learnt from in a sequence, at most")
      ->check(cli::in_range(1, 1 << 20));
  sub->add_option("--gamma", head.gamma, "Weight of depth d is exp(-d / gamma)")
      ->check(cli::in_range(1e-6, 1e6));
  sub->add_flag("--dspark", head.dspark, "DSpark: Markov and confidence heads");
  sub->add_option("--markov-rank", head.markov_rank, "Width of the Markov head")
      ->check(cli::in_range(1, 4096));
  sub->add_option("--intermediate", head.intermediate, "Width of the layers' MLP (0: the target's)")
      ->check(cli::in_range(0, 1 << 18));
  sub->add_flag("--shared-head", head.shares_head,
                "The target's output matrix, restricted to the draft vocabulary (a small file)");
  sub->add_option("--mask-token", head.mask_token, "Token that placeholders look like (-1: the last one)")
      ->check(cli::in_range(-1, 1 << 30));
  flags->draft_vocab.add_to(*sub);
  return [flags, &program] { return train_on_taps<DflashLearner>(*flags, program.command); };
}

}  // namespace augur
