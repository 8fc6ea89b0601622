// What loading a head that does not fit says: the field or tensor, and both numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "base/error.h"
#include "draft/detect.h"
#include "files/safetensors_writer.h"
#include "support/golden_head.h"
#include "support/mtp_models.h"
#include "support/stories.h"

namespace augur {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::golden_head_path;
using testing_support::GoldenTarget;
using testing_support::TemporaryFolder;

/// A head's tensors and configuration, to be changed before they are written and loaded.
struct HeadCopy {
  explicit HeadCopy(const char* folder) : HeadCopy(golden_head_path(folder)) {}
  explicit HeadCopy(const std::filesystem::path& folder) : original(Checkpoint::open(folder)) {
    config = original.config();
    for (const auto& [name, tensor] : original.weights().tensors()) tensors[name] = tensor;
  }

  void write(const std::filesystem::path& folder) const {
    std::ofstream(folder / "config.json") << config;
    std::vector<SafetensorsWriter::Entry> entries;
    for (const auto& [name, t] : tensors)
      entries.push_back({.name = name, .dtype = t.dtype, .shape = t.shape});
    SafetensorsWriter writer(folder / "model.safetensors", entries);
    for (const auto& [name, tensor] : tensors) writer.write(tensor.bytes);
    writer.finish();
  }

  Checkpoint original;
  nlohmann::json config;
  std::map<std::string, StoredTensor> tensors;
};

class HeadLoading : public testing::Test {
 protected:
  /// The error, or "" when the head loads.
  std::string load(const HeadCopy& copy, const char* type) {
    const TemporaryFolder folder;
    copy.write(folder.path());
    const Checkpoint head = Checkpoint::open(folder.path());
    try {
      target_.load(type, head);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  GoldenTarget target_{WeightFormat::BF16};
};

TEST_F(HeadLoading, ACopyLoads) {
  EXPECT_EQ(load(HeadCopy("eagle"), "eagle"), "");
  EXPECT_EQ(load(HeadCopy("eagle3_official"), "eagle3"), "");
  EXPECT_EQ(load(HeadCopy("mtp_mimo"), "mtp"), "");
}

TEST_F(HeadLoading, AnotherHiddenSize) {
  HeadCopy copy("eagle3_own_width");
  copy.config["target_hidden_size"] = 128;
  EXPECT_THAT(load(copy, "eagle3"),
              AllOf(HasSubstr("target_hidden_size"), HasSubstr("128"), HasSubstr("64")));
  HeadCopy narrow("eagle3_own_width");
  narrow.tensors.erase("embed_tokens.weight");
  EXPECT_THAT(load(narrow, "eagle3"), AllOf(HasSubstr("embedding"), HasSubstr("48"), HasSubstr("64")));
  HeadCopy eagle("eagle");
  eagle.config["hidden_size"] = 32;
  EXPECT_THAT(load(eagle, "eagle"), AllOf(HasSubstr("hidden_size"), HasSubstr("32"), HasSubstr("64")));
}

TEST_F(HeadLoading, AnotherVocabulary) {
  for (const auto& [folder, type] :
       {std::pair{"eagle", "eagle"}, {"eagle3_official", "eagle3"}, {"mtp_mimo", "mtp"}}) {
    HeadCopy copy(folder);
    copy.config["vocab_size"] = 32000;
    EXPECT_THAT(load(copy, type), AllOf(HasSubstr("vocab_size"), HasSubstr("32000"), HasSubstr("192")));
  }
}

TEST_F(HeadLoading, LayersTheTargetDoesNotHave) {
  HeadCopy copy("eagle3_target_head");
  copy.config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] = {0, 4, 8};
  EXPECT_THAT(load(copy, "eagle3"), AllOf(HasSubstr("eagle_config.eagle_aux_hidden_state_layer_ids"),
                                          HasSubstr("8 is no layer"), HasSubstr("has 8")));
  copy.config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] = {0, 4};
  EXPECT_THAT(load(copy, "eagle3"), AllOf(HasSubstr("fc.weight"), HasSubstr("128"), HasSubstr("192")));
}

TEST_F(HeadLoading, TensorsMissingOrLeftOver) {
  HeadCopy missing("eagle3_official");
  missing.tensors.erase("midlayer.self_attn.o_proj.weight");
  EXPECT_THAT(load(missing, "eagle3"), HasSubstr("midlayer.self_attn.o_proj.weight"));
  HeadCopy bias("eagle");
  bias.tensors.erase("fc.bias");
  EXPECT_THAT(load(bias, "eagle"), HasSubstr("fc.bias"));
  bias.config["bias"] = false;
  EXPECT_EQ(load(bias, "eagle"), "");
  HeadCopy extra("eagle");
  extra.tensors["surprise.weight"] = extra.tensors["fc.bias"];
  EXPECT_THAT(load(extra, "eagle"), HasSubstr("surprise.weight"));
  HeadCopy none("mtp_mimo");
  none.tensors.erase("model.mtp_layers.0.input_proj.weight");
  EXPECT_THAT(load(none, "mtp"), HasSubstr("input_proj"));
}

TEST_F(HeadLoading, VocabularyMapsAreChecked) {
  HeadCopy size("eagle3_official");
  size.config["draft_vocab_size"] = 64;
  EXPECT_THAT(load(size, "eagle3"), AllOf(HasSubstr("draft_vocab_size"), HasSubstr("64"), HasSubstr("96")));
  HeadCopy missing("eagle3_official");
  missing.tensors.erase("d2t");
  EXPECT_THAT(load(missing, "eagle3"), AllOf(HasSubstr("d2t"), HasSubstr("96"), HasSubstr("192")));
  HeadCopy outside("eagle3_official");
  std::vector<std::byte> bytes(outside.tensors["d2t"].bytes.begin(), outside.tensors["d2t"].bytes.end());
  const std::int64_t offset = 190;
  std::memcpy(bytes.data() + 5 * sizeof offset, &offset, sizeof offset);
  outside.tensors["d2t"].bytes = bytes;
  EXPECT_THAT(load(outside, "eagle3"), AllOf(HasSubstr("d2t"), HasSubstr("entry 5"), HasSubstr("190")));
}

TEST_F(HeadLoading, BlockDraftersThatDoNotFit) {
  for (const char* folder : {"dflash", "dflash_sliding"}) EXPECT_EQ(load(HeadCopy(folder), "dflash"), "");
  EXPECT_EQ(load(HeadCopy("dspark_rnn"), "dspark"), "");

  HeadCopy layers("dflash");
  layers.config["num_target_layers"] = 36;
  EXPECT_THAT(load(layers, "dflash"), AllOf(HasSubstr("num_target_layers"), HasSubstr("36"), HasSubstr("8")));
  layers = HeadCopy("dflash");
  layers.config["num_hidden_layers"] = 5;
  EXPECT_THAT(load(layers, "dflash"), AllOf(HasSubstr("num_hidden_layers"), HasSubstr("5"), HasSubstr("2")));
  HeadCopy taps("dflash");
  taps.config["dflash_config"]["target_layer_ids"] = {1, 4, 8};
  EXPECT_THAT(load(taps, "dflash"), AllOf(HasSubstr("dflash_config.target_layer_ids"),
                                          HasSubstr("8 is no layer"), HasSubstr("has 8")));
  taps.config["dflash_config"].erase("target_layer_ids");
  EXPECT_THAT(load(taps, "dflash"), AllOf(HasSubstr("target_layer_ids"), HasSubstr("missing")));
  HeadCopy hidden("dflash");
  hidden.config["hidden_size"] = 32;
  EXPECT_THAT(load(hidden, "dflash"), AllOf(HasSubstr("hidden_size"), HasSubstr("32"), HasSubstr("64")));
  HeadCopy vocab("dflash");
  vocab.config["vocab_size"] = 32000;
  EXPECT_THAT(load(vocab, "dflash"), AllOf(HasSubstr("vocab_size"), HasSubstr("32000"), HasSubstr("192")));
}

TEST_F(HeadLoading, BlocksThatMakeNoSense) {
  HeadCopy block("dflash");
  block.config["block_size"] = 1;
  EXPECT_THAT(load(block, "dflash"), AllOf(HasSubstr("block_size"), HasSubstr("nothing")));
  block.config["block_size"] = 1 << 20;
  EXPECT_THAT(load(block, "dflash"), HasSubstr("block_size"));
  block.config.erase("block_size");
  EXPECT_THAT(load(block, "dflash"), AllOf(HasSubstr("block_size"), HasSubstr("missing")));
  HeadCopy sliding("dflash_sliding");
  sliding.config["transformer_layer_config"].erase("sliding_window");
  EXPECT_THAT(load(sliding, "dflash"), AllOf(HasSubstr("sliding_window"), HasSubstr("missing")));
  sliding.config["transformer_layer_config"]["layer_types"] = {"full_attention", "linear_attention"};
  EXPECT_THAT(load(sliding, "dflash"), AllOf(HasSubstr("layer_types"), HasSubstr("linear_attention")));
  sliding.config["transformer_layer_config"]["layer_types"] = {"full_attention"};
  EXPECT_THAT(load(sliding, "dflash"), AllOf(HasSubstr("layer_types"), HasSubstr("2 layers")));
}

TEST_F(HeadLoading, MarkovHeads) {
  // A head is read as what it is named, and whole.
  EXPECT_THAT(load(HeadCopy("dspark"), "dflash"), HasSubstr("markov_head."));
  EXPECT_THAT(load(HeadCopy("dflash"), "dspark"), HasSubstr("markov_rank"));
  HeadCopy type("dspark");
  type.config["markov_head_type"] = "fir";
  EXPECT_THAT(load(type, "dspark"),
              AllOf(HasSubstr("markov_head_type"), HasSubstr("fir"), HasSubstr("gated")));
  HeadCopy rank("dspark");
  rank.config["markov_rank"] = 32;
  EXPECT_THAT(load(rank, "dspark"), AllOf(HasSubstr("markov_w1"), HasSubstr("32"), HasSubstr("16")));
  HeadCopy gate("dspark_gated");
  gate.tensors.erase("markov_head.gate_proj.weight");
  EXPECT_THAT(load(gate, "dspark"), HasSubstr("gate_proj"));
  HeadCopy confidence("dspark");
  confidence.config["confidence_head_with_markov"] = false;
  EXPECT_THAT(load(confidence, "dspark"), AllOf(HasSubstr("confidence_head.proj"), HasSubstr("64")));
}

TEST_F(HeadLoading, PlaceholdersOfBlockDrafters) {
  HeadCopy copy("dflash");
  copy.config["dflash_config"]["mask_token_id"] = 192;
  EXPECT_THAT(load(copy, "dflash"), AllOf(HasSubstr("mask_token_id"), HasSubstr("192 is no token")));
  copy.config["dflash_config"].erase("mask_token_id");
  EXPECT_THAT(load(copy, "dflash"), AllOf(HasSubstr("mask_token_id"), HasSubstr("missing")));

  // The embedding in a file of its own, here that of token 191, stands for the token.
  const TemporaryFolder folder;
  copy.write(folder.path());
  const auto file = folder.path() / "mask_embedding.pt";
  std::filesystem::copy_file(golden_head_path("mask_embedding") / "mask_embedding.pt", file);
  const Checkpoint changed = Checkpoint::open(folder.path());
  const auto root_children = [&](const Checkpoint& head) {
    const auto model = target_.load("dflash", head);
    const auto drafter = model->make({.context = 64});
    DraftTree tree;
    tree.reset(3, 0);
    drafter->expand(tree, std::vector<std::int32_t>{0}, {.top_k = 5, .max_nodes = 5});
    EXPECT_EQ(tree.size(), 6);
    return std::vector<float>(tree.log_probs().begin(), tree.log_probs().end());
  };
  EXPECT_EQ(root_children(changed), root_children(HeadCopy("dflash").original));

  std::filesystem::remove(file);
  const auto torch = golden_head_path("").parent_path().parent_path() / "torch";
  std::filesystem::copy_file(torch / "alone.pt", file);
  EXPECT_THAT([&] { target_.load("dflash", changed); },
              testing::ThrowsMessage<Error>(AllOf(HasSubstr("mask_embedding.pt"), HasSubstr("64 values"))));
  std::filesystem::remove(file);
  std::filesystem::copy_file(torch / "state_dict_p4.pt", file);
  EXPECT_THAT([&] { target_.load("dflash", changed); },
              testing::ThrowsMessage<Error>(AllOf(HasSubstr("mask_embedding.pt"), HasSubstr("one tensor"))));
}

TEST(DetectDrafterType, TellsEveryPublishedLayout) {
  const std::pair<const char*, const char*> heads[] = {{"eagle", "eagle"},
                                                       {"eagle_qkv_bias", "eagle"},
                                                       {"eagle3_official", "eagle3"},
                                                       {"eagle3_speculators", "eagle3"},
                                                       {"eagle3_target_head", "eagle3"},
                                                       {"eagle3_full_vocab", "eagle3"},
                                                       {"eagle3_own_width", "eagle3"},
                                                       {"eagle31", "eagle3"},
                                                       {"eagle3_two_layers", "eagle3"},
                                                       {"peagle", "eagle3"},
                                                       {"mtp_deepseek", "mtp"},
                                                       {"mtp_fastmtp", "mtp"},
                                                       {"mtp_mimo", "mtp"},
                                                       {"medusa", "medusa"},
                                                       {"hydra", "hydra"},
                                                       {"hydra_plus_plus", "hydra"},
                                                       {"layerskip", "layerskip"},
                                                       {"dflash", "dflash"},
                                                       {"dflash_sliding", "dflash"},
                                                       {"dflash_sliding_bidirectional", "dflash"},
                                                       {"dspark", "dspark"},
                                                       {"dspark_gated", "dspark"},
                                                       {"dspark_rnn", "dspark"},
                                                       {"target", "draft"}};
  for (const auto& [folder, type] : heads) {
    EXPECT_EQ(detect_drafter_type(Checkpoint::open(golden_head_path(folder))), type) << folder;
    EXPECT_EQ(own_drafter_type(Checkpoint::open(golden_head_path(folder))), "") << folder;
  }
}

TEST(DetectDrafterType, AModelWithLayersThatDraftIsAHeadOfItself) {
  const std::filesystem::path folder = testing_support::mtp_model_path("qwen3_5_mtp");
  const std::filesystem::path other = testing_support::mtp_model_path("qwen3_5_mtp_tied");
  for (const std::filesystem::path& path : {folder, folder / "model.gguf"}) {
    const Checkpoint model = Checkpoint::open(path);
    EXPECT_EQ(own_drafter_type(model), "mtp");
    EXPECT_EQ(detect_drafter_type(model), "draft");
    EXPECT_EQ(detect_drafter_type(model, other), "draft");
    EXPECT_EQ(detect_drafter_type(model, path), "mtp");
    EXPECT_EQ(detect_drafter_type(model, path.parent_path() / "." / path.filename()), "mtp");
  }
}

/// The tiny Qwen3.5's folder, changed.
class OwnLayerLoading : public testing::Test {
 protected:
  OwnLayerLoading() { copy_.config = copy_.original.config(); }

  std::string load() {
    const TemporaryFolder folder;
    copy_.write(folder.path());
    try {
      target_.load("mtp", Checkpoint::open(folder.path()));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  HeadCopy copy_{testing_support::mtp_model_path("qwen3_5_mtp")};
  GoldenTarget target_{WeightFormat::BF16, select_isa(), testing_support::mtp_model_path("qwen3_5_mtp")};
};

TEST_F(OwnLayerLoading, TensorsMissingMisshapedOrOfFurtherLayers) {
  EXPECT_EQ(load(), "");
  copy_.tensors["mtp.layers.1.self_attn.q_proj.weight"] =
      copy_.tensors["mtp.layers.0.self_attn.q_proj.weight"];
  EXPECT_EQ(load(), "") << "the first layer drafts";
  for (const char* name : {"mtp.layers.0.self_attn.q_proj.weight", "mtp.layers.0.mlp.down_proj.weight",
                           "mtp.pre_fc_norm_hidden.weight", "mtp.norm.weight"}) {
    const StoredTensor whole = copy_.tensors.at(name);
    copy_.tensors.erase(name);
    EXPECT_THAT(load(), AllOf(HasSubstr(name), HasSubstr("missing")));
    copy_.tensors[name] = whole;
    copy_.tensors[name].shape[0] /= 2;
    copy_.tensors[name].bytes = whole.bytes.first(whole.bytes.size() / 2);
    EXPECT_THAT(load(), AllOf(HasSubstr(name), HasSubstr(std::to_string(whole.shape[0]))));
    copy_.tensors[name] = whole;
  }
  copy_.tensors["mtp.layers.0.surprise.weight"] = copy_.tensors["mtp.norm.weight"];
  EXPECT_THAT(load(), HasSubstr("mtp.layers.0.surprise.weight"));
  copy_.tensors.erase("mtp.layers.0.surprise.weight");
  copy_.tensors["mtp.lm_head.weight"] = copy_.tensors["mtp.norm.weight"];
  EXPECT_THAT(load(), HasSubstr("mtp.lm_head.weight"));
  copy_.tensors.erase("mtp.lm_head.weight");
  copy_.tensors.erase("mtp.fc.weight");
  EXPECT_THAT(load(), HasSubstr("mtp.fc.weight"));
}

TEST_F(OwnLayerLoading, ALayerForAnotherModel) {
  GoldenTarget other(WeightFormat::BF16);
  const Checkpoint model = Checkpoint::open(testing_support::mtp_model_path("qwen3_5_mtp"));
  try {
    other.load("mtp", model);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("vocab_size"), HasSubstr("288"), HasSubstr("192")));
  }
  copy_.config["hidden_size"] = 56;
  EXPECT_THAT(load(), AllOf(HasSubstr("hidden_size"), HasSubstr("56"), HasSubstr("28")));
}

}  // namespace
}  // namespace augur
