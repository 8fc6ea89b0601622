// What loading a head that does not fit says: the field or tensor, and both numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "base/error.h"
#include "draft/detect.h"
#include "io/safetensors_writer.h"
#include "support/golden_head.h"
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
  explicit HeadCopy(const char* folder) : original(Checkpoint::open(golden_head_path(folder))) {
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

  GoldenTarget target_{WeightType::BF16};
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
                                                       {"dspark", "dspark"},
                                                       {"dspark_rnn", "dspark"},
                                                       {"target", "draft"}};
  for (const auto& [folder, type] : heads) {
    EXPECT_EQ(detect_drafter_type(Checkpoint::open(golden_head_path(folder))), type) << folder;
  }
}

}  // namespace
}  // namespace augur
