// Models with layers of their own that draft: what loads them, what names them, and that they change no
// token.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "augur/engine.h"
#include "checkpoint/checkpoint.h"
#include "files/safetensors.h"
#include "files/safetensors_writer.h"
#include "model/quantize_model.h"
#include "support/error_of.h"
#include "support/mtp_models.h"
#include "support/random_folder.h"
#include "support/stories_engine.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing_support::error_of;
using testing_support::mtp_model_path;

EngineOptions options_for(const std::filesystem::path& model, const char* plan = "") {
  EngineOptions options;
  options.model = model.string();
  options.threads = 2;
  options.cost_cache = "none";
  if (*plan != '\0') options.speculation = SpeculationPlan::parse(plan);
  return options;
}

Request request_with(const char* plan) {
  Request request;
  request.prompt = "Once upon a time";
  request.max_tokens = 24;
  request.ignore_eos = true;
  request.speculation = SpeculationPlan::parse(plan);
  return request;
}

/// In both formats.
class OwnLayers : public testing::TestWithParam<const char*> {
 protected:
  std::filesystem::path model() const {
    const std::filesystem::path folder = mtp_model_path("qwen3_5_mtp");
    return *GetParam() == '\0' ? folder : folder / GetParam();
  }
};

TEST_P(OwnLayers, DraftWhereNothingIsNamed) {
  Engine engine(options_for(model()));
  EXPECT_THAT(engine.speculation().drafters, ElementsAre("mtp", "ngram"));
  EXPECT_EQ(engine.speculation().policy.name, "auto");
  EXPECT_THAT(engine.drafters(), Contains("mtp"));
  const Result plain = engine.generate(request_with("none"));
  EXPECT_EQ(plain.speculation.drafted_tokens, 0);
  for (const char* plan :
       {"mtp:n-max=4", "auto:policy=eagle2,topk=4,depth=4,size=16", "draft-mtp,ngram:n-max=5"}) {
    const Result result = engine.generate(request_with(plan));
    EXPECT_EQ(result.tokens, plain.tokens) << plan;
    EXPECT_GT(result.speculation.drafted_tokens, 0) << plan;
  }
}

TEST_P(OwnLayers, AreLoadedForThemOnly) {
  for (const char* plan : {"none", "ngram:n-max=3"}) {
    Engine engine(options_for(model(), plan));
    EXPECT_THAT(engine.drafters(), Not(Contains("mtp"))) << plan;
    EXPECT_THAT(error_of([&] { engine.generate(request_with("mtp")); }), HasSubstr("not loaded"));
  }
  for (const char* plan : {"mtp:n-max=3", "auto:n-max=2", "ngram,draft-mtp:policy=eagle2", ":n-max=3"}) {
    EXPECT_THAT(Engine(options_for(model(), plan)).speculation().drafters, Contains("mtp")) << plan;
  }
}

TEST_P(OwnLayers, TheModelsOwnPathStandsForThem) {
  EngineOptions options = options_for(model(), ":n-max=3");
  options.draft_model = options.model;
  options.draft_models = {{"own", options.model}};
  Engine engine(options);
  EXPECT_THAT(engine.speculation().drafters, ElementsAre("mtp"));
  const Result plain = engine.generate(request_with("none"));
  const Result named = engine.generate(request_with("@own:policy=eagle2,topk=4"));
  EXPECT_EQ(named.tokens, plain.tokens);
  EXPECT_GT(named.speculation.drafted_tokens, 0);
  // Another copy is a model that may draft as one, or is said to be the layer's files.
  options = options_for(model(), ":n-max=3");
  options.draft_model = mtp_model_path("qwen3_5_mtp_tied").string();
  EXPECT_THAT(Engine(options).speculation().drafters, ElementsAre("draft"));
  options.speculation = SpeculationPlan::parse("mtp:n-max=3");
  EXPECT_THAT(Engine(options).speculation().drafters, ElementsAre("mtp"));
}

INSTANTIATE_TEST_SUITE_P(Formats, OwnLayers, testing::Values("", "model.gguf"),
                         [](const auto& test) { return *test.param == '\0' ? "folder" : "gguf"; });

/// A copy of the model's folder whose layer that drafts has other names; with `twice` both.
void write_within_the_model(const std::filesystem::path& to, bool twice) {
  const std::filesystem::path from = mtp_model_path("qwen3_5_mtp");
  for (const char* file :
       {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"})
    std::filesystem::copy_file(from / file, to / file);
  const std::unique_ptr<WeightStore> store = open_safetensors(from / "model.safetensors");
  std::vector<SafetensorsWriter::Entry> entries;
  std::vector<const StoredTensor*> tensors;
  for (const auto& [name, tensor] : store->tensors()) {
    const bool drafts = name.starts_with("mtp.");
    for (const bool within : {true, false}) {
      if (!within && drafts && !twice) continue;
      if (within && !drafts) continue;
      entries.push_back({(within ? "model." : "") + name, tensor.dtype, tensor.shape});
      tensors.push_back(&tensor);
    }
  }
  SafetensorsWriter writer(to / "model.safetensors", entries);
  for (const StoredTensor* tensor : tensors) writer.write(tensor->bytes);
  writer.finish();
}

TEST(OwnLayersWithinTheModel, AreTheSame) {
  const testing_support::TemporaryFolder folder;
  write_within_the_model(folder.path(), false);
  Engine usual(options_for(mtp_model_path("qwen3_5_mtp")));
  Engine within(options_for(folder.path()));
  EXPECT_THAT(within.speculation().drafters, ElementsAre("mtp", "ngram"));
  for (const char* plan : {"none", "mtp:n-max=4", "mtp:topk=4,depth=4,size=16"}) {
    const Result expected = usual.generate(request_with(plan));
    const Result result = within.generate(request_with(plan));
    EXPECT_EQ(result.tokens, expected.tokens) << plan;
    EXPECT_EQ(result.speculation.drafted_tokens, expected.speculation.drafted_tokens) << plan;
    EXPECT_EQ(result.speculation.accepted_tokens, expected.speculation.accepted_tokens) << plan;
  }
  // As a file, too.
  ThreadPool pool(2);
  quantize_model(pool, Checkpoint::open(folder.path()), folder.path() / "f32.gguf", {.type = DType::F32});
  Engine file(options_for(folder.path() / "f32.gguf"));
  EXPECT_THAT(file.speculation().drafters, ElementsAre("mtp", "ngram"));
  EXPECT_EQ(file.generate(request_with("mtp:n-max=4")).tokens,
            within.generate(request_with("mtp:n-max=4")).tokens);

  const testing_support::TemporaryFolder both;
  write_within_the_model(both.path(), true);
  EXPECT_THAT(error_of([&] { Engine(options_for(both.path())); }), HasSubstr("tensor mtp."));
}

TEST(NoOwnLayers, IsSaid) {
  EngineOptions options = testing_support::stories_engine_options();
  for (const char* plan : {"auto", "mtp"}) {
    options.speculation = SpeculationPlan::parse(plan);
    EXPECT_THAT(error_of([&] { Engine engine(options); }), HasSubstr("no layers of its own that draft"));
  }
}

TEST(QuantisedOwnLayers, Draft) {
  const testing_support::TemporaryFolder folder;
  for (const int experts : {0, 4}) {
    const std::filesystem::path model = folder.path() / std::to_string(experts);
    std::filesystem::create_directory(model);
    nlohmann::json config = nlohmann::json::parse(R"({"model_type": "qwen3_5_text", "hidden_size": 64,
      "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
      "head_dim": 16, "vocab_size": 512, "max_position_embeddings": 256, "linear_num_key_heads": 2,
      "linear_num_value_heads": 6, "linear_key_head_dim": 32, "linear_value_head_dim": 32,
      "linear_conv_kernel_dim": 4, "bos_token_id": 1, "eos_token_id": 2, "full_attention_interval": 2})");
    if (experts > 0) {
      config.update({{"model_type", "qwen3_5_moe_text"},
                     {"num_experts", experts},
                     {"num_experts_per_tok", 2},
                     {"moe_intermediate_size", 32},
                     {"shared_expert_intermediate_size", 32}});
    }
    testing_support::write_random_folder(
        model, config, testing_support::own_layer(ModelConfig::from_json(config, "config.json")));
    ThreadPool pool(2);
    const std::filesystem::path file = folder.path() / (std::to_string(experts) + ".gguf");
    quantize_model(pool, Checkpoint::open(model), file, {.type = DType::Q8_0});
    Engine engine(options_for(file, ":n-max=3"));
    EXPECT_THAT(engine.speculation().drafters, ElementsAre("mtp"));
    const Result plain = engine.generate(request_with("none"));
    const Result drafted = engine.generate(request_with("mtp:policy=eagle2,topk=4"));
    EXPECT_EQ(drafted.tokens, plain.tokens);
    EXPECT_GT(drafted.speculation.drafted_tokens, 0);
  }
}

}  // namespace
}  // namespace augur
