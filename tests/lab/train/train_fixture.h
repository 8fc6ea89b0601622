#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/philox.h"
#include "lab/corpus/dataset.h"
#include "lab/train/dflash_learner.h"
#include "lab/train/eagle3_learner.h"
#include "lab/train/eagle_learner.h"
#include "lab/train/early_exit_learner.h"
#include "lab/train/heads_learner.h"
#include "lab/train/lm_learner.h"
#include "lab/train/mtp_learner.h"
#include "support/golden_head.h"
#include "support/temporary_folder.h"

namespace augur::testing_support {

/// Sequences of the golden target's vocabulary that follow a rule, so that there is something to learn.
inline std::vector<TokenId> toy_tokens(std::uint32_t number, int length) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < length; ++i) {
    const auto noise = philox4x32({number, static_cast<std::uint32_t>(i), 0, 0}, 7)[0];
    tokens.push_back(i > 0 && noise % 4 != 0 ? (tokens.back() * 5 + 3) % 192
                                             : static_cast<TokenId>(noise % 192));
  }
  return tokens;
}

/// Writes so many of them as answers of the target.
inline void write_toy_data(const std::filesystem::path& file, int sequences, int length = 40) {
  std::ofstream out(file);
  for (int i = 0; i < sequences; ++i) {
    const std::vector<TokenId> tokens = toy_tokens(static_cast<std::uint32_t>(i), length);
    const nlohmann::json record = {{"prompt_ids", std::vector<TokenId>(tokens.begin(), tokens.begin() + 8)},
                                   {"response_ids", std::vector<TokenId>(tokens.begin() + 8, tokens.end())}};
    out << record.dump() << "\n";
  }
}

inline std::string content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The golden target for trainers, with data. On the CPU the engine computes its states, as for users.
struct TrainTarget {
  explicit TrainTarget(torch::Device device = torch::kCPU)
      : TrainTarget(device, device.is_cpu() ? TargetForward::Engine : TargetForward::Libtorch) {}
  TrainTarget(torch::Device device, TargetForward forward)
      : checkpoint(Checkpoint::open(golden_head_path("target"))),
        model(checkpoint, device, forward),
        data(tokenizer, nullptr, {.max_length = 64}) {
    write_toy_data(folder.path() / "data.jsonl", 24);
    data.add_file(folder.path() / "data.jsonl");
  }
  DraftVocabulary whole() const { return DraftVocabulary(192); }
  DraftVocabulary reduced() const { return {192, frequent_tokens(data, 192, 96, {})}; }

  TemporaryFolder folder;
  NoTokenizer tokenizer;
  Checkpoint checkpoint;
  TorchLlama model;
  Dataset data;
};

/// Every part there is, small.
struct PartCase {
  const char* name;
  const char* drafter;  ///< the engine's type; empty: a model
  std::function<std::unique_ptr<Learner>(const TrainTarget&)> make;
};

inline std::vector<PartCase> all_parts() {
  const auto heads = [](bool grounded, bool prefix, int layers) {
    return [=](const TrainTarget& t) -> std::unique_ptr<Learner> {
      return std::make_unique<HeadsLearner>(
          t.model,
          HeadsLearner::Options{.grounded = grounded, .prefix = prefix, .heads = 3, .layers = layers});
    };
  };
  const auto shared = [](bool grounded) {
    return [=](const TrainTarget& t) -> std::unique_ptr<Learner> {
      return std::make_unique<HeadsLearner>(
          t.model, HeadsLearner::Options{.grounded = grounded, .heads = 3, .shares_head = true});
    };
  };
  const auto blocks = [](bool dspark, bool reduced, bool shared_head = false) {
    return [=](const TrainTarget& t) -> std::unique_ptr<Learner> {
      DflashLearner::Options options{
          .layers = 2, .block = 5, .anchors = 6, .dspark = dspark, .markov_rank = 16};
      options.shares_head = shared_head;
      if (shared_head) options.intermediate = 96;
      options.taps = default_taps(t.model.config());
      options.tap_scales = tap_scales(t.model, t.data, options.taps);
      return std::make_unique<DflashLearner>(t.model, reduced ? t.reduced() : t.whole(), options);
    };
  };
  const auto language = [](bool distilled) {
    return [=](const TrainTarget& t) -> std::unique_ptr<Learner> {
      const LmShape shape{.hidden = 64, .intermediate = 96, .layers = 2, .heads = 4, .kv_heads = 2};
      return std::make_unique<LmLearner>(
          LmLearner::Options{.shape = llama_shape(shape, t.checkpoint.config(), "target"),
                             .target = distilled ? &t.model : nullptr,
                             .device = t.model.device()});
    };
  };
  return {{"eagle3", "eagle3",
           [](const TrainTarget& t) -> std::unique_ptr<Learner> {
             Eagle3Learner::Options options{.unroll = {.steps = 3, .decay = 0.8, .evaluated = 3}};
             options.taps = default_taps(t.model.config());
             options.tap_scales = tap_scales(t.model, t.data, options.taps);
             return std::make_unique<Eagle3Learner>(t.model, t.reduced(), options);
           }},
          {"earlyexit", "layerskip",
           [](const TrainTarget& t) -> std::unique_ptr<Learner> {
             return std::make_unique<EarlyExitLearner>(
                 t.model, t.whole(), EarlyExitLearner::Options{.exit_layer = 2, .blocks = 2});
           }},
          {"eagle", "eagle",
           [](const TrainTarget& t) -> std::unique_ptr<Learner> {
             return std::make_unique<EagleLearner>(t.model, EagleLearner::Options{.evaluated = 3});
           }},
          {"mtp", "mtp",
           [](const TrainTarget& t) -> std::unique_ptr<Learner> {
             return std::make_unique<MtpLearner>(t.model, MtpLearner::Options{});
           }},
          {"medusa", "medusa", heads(false, false, 2)},
          {"hydra", "hydra", heads(true, false, 2)},
          {"hydra_prefix", "hydra", heads(true, true, 3)},
          {"medusa_shared", "medusa", shared(false)},
          {"hydra_shared", "hydra", shared(true)},
          {"dflash", "dflash", blocks(false, false)},
          {"dspark", "dspark", blocks(true, true)},
          {"dflash_shared", "dflash", blocks(false, true, true)},
          {"dspark_shared", "dspark", blocks(true, true, true)},
          {"draft", "", language(true)},
          {"lm", "", language(false)}};
}

/// For INSTANTIATE_TEST_SUITE_P.
inline std::string part_name(const testing::TestParamInfo<PartCase>& info) {
  return info.param.name;
}

}  // namespace augur::testing_support
