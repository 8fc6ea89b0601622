#include "files/text_part.h"

#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "support/test_files.h"

namespace augur {
namespace {

using test::expect_error;
using test::raw;
using test::safetensors_file;
using test::TemporaryFolder;
using Json = nlohmann::json;

TEST(TextPart, IsTheTextModelsConfiguration) {
  const Json whole = {{"model_type", "mistral3"},
                      {"architectures", {"Mistral3ForConditionalGeneration"}},
                      {"eos_token_id", 2},
                      {"tie_word_embeddings", true},
                      {"hidden_size", 5},
                      {"vision_config", {{"hidden_size", 7}}},
                      {"text_config", {{"model_type", "ministral3"}, {"hidden_size", 6}, {"vocab_size", 9}}}};
  EXPECT_TRUE(has_text_part(whole));
  EXPECT_EQ(text_part(whole, "config.json"), (Json{{"model_type", "ministral3"},
                                                   {"architectures", {"Ministral3ForCausalLM"}},
                                                   {"hidden_size", 6},
                                                   {"vocab_size", 9},
                                                   {"eos_token_id", 2},
                                                   {"tie_word_embeddings", true}}));
}

TEST(TextPart, HasTheDefaultsOfTheWholesClass) {
  const Json gemma = text_part({{"model_type", "gemma3"}, {"text_config", Json::object()}}, "config.json");
  EXPECT_EQ(gemma["model_type"], "gemma3_text");
  EXPECT_EQ(gemma["num_attention_heads"], 8);
  EXPECT_EQ(gemma["vocab_size"], 262208);
  const Json mistral =
      text_part({{"model_type", "mistral3"}, {"text_config", Json::object()}}, "config.json");
  EXPECT_EQ(text_part({{"model_type", "qwen3_5_moe"}, {"text_config", Json::object()}}, "config.json"),
            (Json{{"model_type", "qwen3_5_moe_text"}, {"architectures", {"Qwen3_5MoeForCausalLM"}}}));
  EXPECT_EQ(mistral["model_type"], "mistral");
  EXPECT_FALSE(mistral.contains("num_attention_heads"));
}

TEST(TextPart, TextModelsAreTheirOwn) {
  for (const Json& config :
       {Json{{"model_type", "llama"}, {"text_config", {{"model_type", "qwen3"}}}},
        Json{{"model_type", "mistral3"}}, Json{{"model_type", 3}, {"text_config", Json::object()}},
        Json::array({1}), Json()}) {
    EXPECT_FALSE(has_text_part(config)) << config;
    EXPECT_EQ(text_part(config, "config.json"), config);
  }
}

TEST(TextPart, IsAnObject) {
  for (const Json& bad : {Json(), Json(3), Json("text"), Json::array()}) {
    expect_error(
        [&] {
          text_part({{"model_type", "gemma3"}, {"text_config", bad}}, "config.json");
        },
        {"config.json", "text_config", "expected an object"});
  }
}

/// A folder of a whole model with tensors of these names.
class WholeFolder : public testing::Test {
 protected:
  const WeightStore& open(const std::vector<std::string>& names) {
    Json header;
    std::string data;
    for (const std::string& name : names) {
      header[name] = {{"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {data.size(), data.size() + 4}}};
      data += raw(static_cast<float>(data.size()));
    }
    folder_.write("config.json", R"({"model_type":"mistral3","text_config":{"vocab_size":4}})");
    folder_.write("model.safetensors", safetensors_file(header.dump(), data));
    checkpoint_ = Checkpoint::open(folder_.path());
    return checkpoint_->weights();
  }
  static std::vector<std::string> names_of(const WeightStore& store) {
    std::vector<std::string> names;
    for (const auto& entry : store.tensors()) names.push_back(entry.first);
    return names;
  }

 private:
  TemporaryFolder folder_;
  std::optional<Checkpoint> checkpoint_;
};

TEST_F(WholeFolder, HasTheTextModelsTensorsUnderTheirOwnNames) {
  const std::vector<std::string> expected = {"lm_head.weight", "model.embed_tokens.weight",
                                             "model.layers.0.mlp.up_proj.weight"};
  const WeightStore& older =
      open({"language_model.lm_head.weight", "language_model.model.embed_tokens.weight",
            "language_model.model.layers.0.mlp.up_proj.weight", "multi_modal_projector.norm.weight",
            "vision_tower.ln_pre.weight"});
  EXPECT_EQ(names_of(older), expected);
  EXPECT_EQ(older.find("model.embed_tokens.weight")->name, "model.embed_tokens.weight");
  float value = -1;
  read_rows(*older.find("model.embed_tokens.weight"), 0, 1, &value);
  EXPECT_EQ(value, 4);
  EXPECT_EQ(names_of(open({"lm_head.weight", "model.language_model.embed_tokens.weight",
                           "model.language_model.layers.0.mlp.up_proj.weight",
                           "model.multi_modal_projector.norm.weight", "model.vision_tower.ln_pre.weight"})),
            expected);
  EXPECT_EQ(
      names_of(open({"lm_head.weight", "model.language_model.embed_tokens.weight",
                     "model.language_model.layers.0.mlp.up_proj.weight", "model.visual.pos_embed.weight"})),
      expected);
}

TEST_F(WholeFolder, UnknownTensorsStayAndAreLeftOver) {
  const WeightStore& store = open({"audio_tower.weight", "model.norm.weight"});
  expect_error([&] { store.check_leftovers(std::vector<std::string>{"model.norm.weight"}, {}); },
               {"audio_tower.weight"});
}

TEST_F(WholeFolder, TensorsOfBothNamesAreRefused) {
  expect_error(
      [&] {
        open({"language_model.model.norm.weight", "model.norm.weight"});
      },
      {"model.norm.weight", "twice"});
}

}  // namespace
}  // namespace augur
