// What a draft model's or head's weights are packed to.
#include "draft/draft_weights.h"

#include <gtest/gtest.h>

#include "draft/detect.h"
#include "model/quantize_model.h"
#include "support/golden_head.h"
#include "support/quantised_models.h"
#include "support/stories.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing_support::golden_head_path;
using testing_support::GoldenTarget;
using testing_support::stories_path;
using testing_support::TemporaryFolder;

TEST(DraftWeights, ATypeThatIsAskedForIsGiven) {
  GoldenTarget target(WeightFormat::Auto);
  const Checkpoint head = Checkpoint::open(golden_head_path("eagle"));
  const auto form = [&](DraftWeightFormat asked) { return draft_weight_form(asked, head, *target.model); };
  EXPECT_EQ(form(DraftWeightFormat::Q8_0).quantize, DType::Q8_0);
  EXPECT_EQ(form(DraftWeightFormat::Q4_0).quantize, DType::Q4_0);
  EXPECT_EQ(form(DraftWeightFormat::Q4_1).quantize, DType::Q4_1);
  EXPECT_EQ(form(DraftWeightFormat::Native).quantize, std::nullopt);
  EXPECT_TRUE(form(DraftWeightFormat::Native).native);
  EXPECT_FALSE(form(DraftWeightFormat::BF16).native);
}

/// Whether 4 bits are faster is this machine's to say.
TEST(DraftWeights, AutoKeepsWhatIsStoredOrTakesFourBits) {
  TemporaryFolder folder;
  GoldenTarget target(WeightFormat::Auto);
  const auto form = [&](const std::filesystem::path& head) {
    return draft_weight_form(DraftWeightFormat::Auto, Checkpoint::open(head), *target.model);
  };
  const WeightForm floats = form(golden_head_path("eagle"));
  EXPECT_TRUE(floats.native);
  EXPECT_EQ(floats.quantize.value_or(DType::Q4_1), DType::Q4_1);
  const WeightForm stored = form(testing_support::write_quantised_stories(folder.path(), DType::Q8_0));
  EXPECT_TRUE(stored.native);
  EXPECT_EQ(stored.quantize, std::nullopt);
}

TEST(DraftWeights, WhatIsQuantisedAtLoadIsTheModelOfTheQuantisedFile) {
  TemporaryFolder folder;
  Backend backend(2);
  const std::filesystem::path path = folder.path() / "stories.gguf";
  quantize_model(backend.pool, Checkpoint::open(stories_path()), path, {.type = DType::Q8_0});
  const Checkpoint file = Checkpoint::open(path);
  const Checkpoint floats = Checkpoint::open(stories_path());
  const auto log_probs = [&](const Checkpoint& checkpoint, const ModelOptions& options) {
    const auto model = Model::load(backend, checkpoint, options);
    EXPECT_EQ(model->types().front(), DType::Q8_0);
    return testing_support::plain_log_probs(*model, floats.load_tokenizer()->encode("Once upon a time"));
  };
  EXPECT_EQ(log_probs(floats, {.form = WeightForm{.quantize = DType::Q8_0}}), log_probs(file, {}));
}

TEST(DraftWeights, AFileOfAnotherTypeIsExpandedFirst) {
  TemporaryFolder folder;
  Backend backend(2);
  const std::filesystem::path path = folder.path() / "stories.gguf";
  quantize_model(backend.pool, Checkpoint::open(stories_path()), path, {.type = DType::Q8_0});
  const Checkpoint file = Checkpoint::open(path);
  EXPECT_EQ(Model::load(backend, file, {.form = WeightForm{.quantize = DType::Q4_0}})->types().front(),
            DType::Q4_0);
  EXPECT_EQ(Model::load(backend, file, {.form = WeightForm{}})->types().front(), DType::BF16);
}

TEST(DraftWeights, EveryHeadLoadsInEveryType) {
  GoldenTarget target(WeightFormat::Auto);
  for (const char* name : {"eagle3_official", "eagle3_speculators", "eagle", "medusa", "hydra"}) {
    const Checkpoint head = Checkpoint::open(golden_head_path(name));
    for (const DType type : {DType::Q8_0, DType::Q4_0, DType::Q4_1}) {
      SCOPED_TRACE(fmt::format("{} {}", name, augur::name(type)));
      const auto type_of_head = detect_drafter_type(head);
      const auto loaded = find_drafter_type(type_of_head)
                              .load({.backend = target.backend,
                                     .target = *target.model,
                                     .tokenizer = target.tokenizer,
                                     .target_path = "target",
                                     .head = &head,
                                     .form = WeightForm{.quantize = type},
                                     .context = target.model->context()});
      EXPECT_NE(loaded, nullptr);
    }
  }
}

}  // namespace
}  // namespace augur
