#include "model/fingerprint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "model/model.h"
#include "model/weights.h"
#include "support/error_of.h"
#include "support/quantised_models.h"
#include "unit/model/model_fixture.h"

namespace augur::test {
namespace {

using testing::HasSubstr;
using testing_support::error_of;

Checkpoint stories() {
  return Checkpoint::open(std::string(AUGUR_SOURCE_DIR) + "/models/stories260k");
}

Fingerprint example() {
  return {.family = "llama", .hidden = 64, .layers = 5, .vocab = 512, .digest = "0123456789abcdef"};
}

/// All values are 1 + `shift`.
class Constant final : public WeightSource {
 public:
  explicit Constant(float shift) : shift_(shift) {}
  RowReader open(const std::string&, const Shape& shape) override {
    return [length = shape.back(), value = 1 + shift_](std::int64_t, std::int64_t count, float* out) {
      std::fill_n(out, count * length, value);
    };
  }

 private:
  float shift_;
};

std::string digest(const ModelConfig& config, float shift) {
  Constant source(shift);
  return fingerprint_of(config, source).digest;
}

TEST(Fingerprint, IsTheSameForAModelAndItsCheckpoint) {
  const Checkpoint checkpoint = stories();
  Backend backend(1, false, select_isa());
  const auto model = Model::load(backend, checkpoint);
  EXPECT_EQ(model->fingerprint(), fingerprint_of(checkpoint));
  EXPECT_EQ(model->fingerprint().digest.size(), 16u);
  EXPECT_EQ(model->fingerprint().vocab, model->config().vocab);
}

/// GGUF calls Mistral's models without a window Llama's: what was made for the folder is for the file, and
/// the reverse.
TEST(Fingerprint, IsTheSameForAFolderAndItsGgufFile) {
  const testing_support::TemporaryFolder folder;
  testing_support::write_random_model(folder.path());
  nlohmann::json config = Checkpoint::open(folder.path()).config();
  config["sliding_window"] = nullptr;
  for (const char* family : {"llama", "mistral"}) {
    config["model_type"] = family;
    std::ofstream(folder.path() / "config.json") << config;
    const Checkpoint from = Checkpoint::open(folder.path());
    ThreadPool pool(1);
    quantize_model(pool, from, folder.path() / "model.gguf", {.type = DType::Q8_0});
    const Fingerprint a = fingerprint_of(from);
    const Fingerprint b = fingerprint_of(Checkpoint::open(folder.path() / "model.gguf"));
    EXPECT_EQ(a.family, family);
    EXPECT_EQ(b.family, "llama");
    EXPECT_EQ(a, b);
    for (const Strictness strictness :
         {Strictness::SameModel, Strictness::SameFamily, Strictness::SameVocabulary}) {
      EXPECT_EQ(check_fingerprint("part", {{"target", to_json(a)}}, b, strictness), "");
      EXPECT_EQ(check_fingerprint("part", {{"target", to_json(b)}}, a, strictness), "");
    }
  }
}

TEST(Fingerprint, DependsOnNormsToTheExactnessOfBfloat16AndOnTheVocabulary) {
  ModelConfig config = tiny_config();
  const std::string digest_of_ones = digest(config, 0);
  EXPECT_EQ(digest(config, 1e-4f), digest_of_ones);
  EXPECT_NE(digest(config, 1e-2f), digest_of_ones);
  ++config.vocab;
  EXPECT_NE(digest(config, 0), digest_of_ones);
}

/// GGUF files have what such norms multiply by, in which a little weight has lost its last bits.
TEST(Fingerprint, IsOfWhatNormsMultiplyBy) {
  ModelConfig config = tiny_config();
  config.norm_offset = 1;
  EXPECT_EQ(digest(config, std::nextafter(-1.0f, 0.0f)), digest(config, -1));
  EXPECT_NE(digest(config, -0.9f), digest(config, -1));
}

TEST(RotationDigest, DiffersWhereFrequenciesDo) {
  const RopeConfig dynamic{.scaling = RopeConfig::Scaling::Dynamic, .factor = 2, .original_context = 100};
  const RopeConfig longrope{.scaling = RopeConfig::Scaling::Factors,
                            .original_context = 100,
                            .factors = {1, 1, 1, 1, 2},
                            .long_factors = {1, 2, 3, 4, 5}};
  ModelConfig config = tiny_config();
  config.kinds.push_back(config.kinds[0]);  // layers that follow the context beside others that do not
  for (const RopeConfig& rope : {dynamic, longrope}) {
    config.kinds[1].rope = rope;
    for (const std::int64_t a : {50, 100, 101, 200}) {
      EXPECT_EQ(rotation_digest(config, a).size(), 16u);
      for (const std::int64_t b : {50, 100, 101, 200}) {
        const bool same = make_rope_table(rope, config.head_dim, a).inverse_frequencies ==
                          make_rope_table(rope, config.head_dim, b).inverse_frequencies;
        EXPECT_EQ(rotation_digest(config, a) == rotation_digest(config, b), same) << a << ' ' << b;
      }
    }
  }
}

TEST(RotationDigest, IsEmptyWhereTheContextChangesNothing) {
  ModelConfig config = tiny_config();
  EXPECT_EQ(rotation_digest(config, 100), "");
  config.kinds[0].rope = {.scaling = RopeConfig::Scaling::Yarn, .factor = 4, .original_context = 100};
  EXPECT_EQ(rotation_digest(config, 400), "");
  config.kinds[0].rope = {.none = true, .scaling = RopeConfig::Scaling::Dynamic, .original_context = 100};
  EXPECT_EQ(rotation_digest(config, 400), "");
}

TEST(Fingerprint, OfTheSameTargetFitsUnderEitherKey) {
  for (const char* key : {kHeadTargetKey, kPartTargetKey}) {
    const nlohmann::json config = {{key, to_json(example())}};
    EXPECT_EQ(check_fingerprint("part", config, example(), Strictness::SameModel), "");
  }
}

TEST(Fingerprint, APartThatNamesNoTargetIsTaken) {
  EXPECT_EQ(check_fingerprint("part", nlohmann::json::object(), example(), Strictness::SameModel), "");
}

TEST(Fingerprint, StrictnessDecidesWhatMayDiffer) {
  Fingerprint sibling = example();
  sibling.hidden = 128;
  sibling.digest = "fedcba9876543210";
  const nlohmann::json config = {{"target", to_json(sibling)}};
  const std::string refusal =
      error_of([&] { check_fingerprint("heads/config.json", config, example(), Strictness::SameModel); });
  EXPECT_THAT(refusal, HasSubstr("heads/config.json"));
  EXPECT_THAT(refusal, HasSubstr("128 wide"));
  EXPECT_THAT(refusal, HasSubstr("64 wide"));
  EXPECT_THAT(check_fingerprint("c2t", config, example(), Strictness::SameFamily), HasSubstr("c2t"));
  EXPECT_EQ(check_fingerprint("freq", config, example(), Strictness::SameVocabulary), "");
  Fingerprint mistral = example();
  mistral.family = "mistral";
  EXPECT_THAT(check_fingerprint("c2t", config, mistral, Strictness::SameFamily), HasSubstr("c2t"));

  Fingerprint stranger = sibling;
  stranger.family = "qwen3";
  stranger.vocab = 1000;
  const nlohmann::json other = {{"target", to_json(stranger)}};
  EXPECT_THROW(check_fingerprint("c2t", other, example(), Strictness::SameFamily), Error);
  EXPECT_THROW(check_fingerprint("freq", other, example(), Strictness::SameVocabulary), Error);
}

TEST(Fingerprint, DamagedOnesAreErrorsNamingTheField) {
  for (const char* key : {"family", "hidden", "layers", "vocab", "digest"}) {
    nlohmann::json object = to_json(example());
    object[key] = nlohmann::json::array();
    EXPECT_THAT(error_of([&] {
                  check_fingerprint("part", {{"target", object}}, example(), Strictness::SameModel);
                }),
                HasSubstr(key));
    object.erase(key);
    EXPECT_THROW(check_fingerprint("part", {{"target", object}}, example(), Strictness::SameModel), Error);
  }
  EXPECT_THROW(check_fingerprint("part", {{"target", 3}}, example(), Strictness::SameModel), Error);
}

}  // namespace
}  // namespace augur::test
