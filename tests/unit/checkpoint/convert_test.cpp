#include "checkpoint/convert.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "files/gguf/model.h"
#include "support/test_files.h"
#include "text/tokenizer/export.h"

namespace augur {
namespace {

using test::expect_error;
using test::GgufBuilder;
using test::TemporaryFolder;
using Json = nlohmann::json;

std::vector<float> ramp(std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = 0.3f * static_cast<float>(i) - 7;
  return values;
}

/// A Llama-like model with every byte and a few merges as its vocabulary.
std::string small_gguf() {
  std::vector<std::string> tokens;
  for (char c = '!'; c <= '~'; ++c) tokens.emplace_back(1, c);
  for (const char* token :
       {"Ġ", "he", "ll", "hell", "hello", "Ġhello", "<|endoftext|>", "<|begin|>", "<|end|>"})
    tokens.emplace_back(token);
  std::vector<std::int32_t> types(tokens.size(), 1);
  for (std::size_t i = 1; i <= 3; ++i) types[tokens.size() - i] = 3;
  const auto last = static_cast<std::uint32_t>(tokens.size() - 1);
  return GgufBuilder()
      .text("general.architecture", "llama")
      .u32("llama.block_count", 1)
      .u32("llama.context_length", 64)
      .u32("llama.embedding_length", 8)
      .u32("llama.feed_forward_length", 4)
      .u32("llama.attention.head_count", 2)
      .f32("llama.attention.layer_norm_rms_epsilon", 1e-5f)
      .text("tokenizer.ggml.model", "gpt2")
      .text("tokenizer.ggml.pre", "llama-bpe")
      .strings("tokenizer.ggml.tokens", tokens)
      .array("tokenizer.ggml.token_type", GgufType::I32, types)
      .strings("tokenizer.ggml.merges", {"h e", "l l", "he ll", "hell o", "Ġ hello"})
      .u32("tokenizer.ggml.bos_token_id", last - 1)
      .u32("tokenizer.ggml.eos_token_id", last)
      .boolean("tokenizer.ggml.add_bos_token", true)
      .text("tokenizer.chat_template", "{{ messages[0].content }}")
      .floats("token_embd.weight", {8, tokens.size()}, ramp(8 * tokens.size()))
      .floats("blk.0.attn_q.weight", {8, 8}, ramp(64))
      .floats("output_norm.weight", {8}, ramp(8))
      .build();
}

class ConvertTest : public ::testing::Test {
 protected:
  ConvertTest() : gguf_(Checkpoint::open(folder_.write("m.gguf", small_gguf()))), out_(folder_ / "out") {}

  /// Every tensor of `converted` is the original's, rounded to bf16 unless a vector.
  void expect_same_weights(const Checkpoint& converted) const {
    ASSERT_EQ(converted.weights().tensors().size(), gguf_.weights().tensors().size());
    for (const auto& [name, tensor] : gguf_.weights().tensors()) {
      const auto& other = converted.weights().require(name, tensor.shape);
      const bool is_vector = tensor.shape.size() == 1;
      EXPECT_EQ(other.dtype, is_vector ? DType::F32 : DType::BF16) << name;
      const std::int64_t rows = is_vector ? 1 : tensor.shape[0];
      const auto size = static_cast<std::size_t>(tensor.shape.back() * rows);
      std::vector<float> expected(size);
      std::vector<float> found(size);
      read_rows(tensor, 0, rows, expected.data());
      read_rows(other, 0, rows, found.data());
      if (!is_vector) {
        for (float& value : expected) value = to_float(to_bf16(value));
      }
      EXPECT_EQ(found, expected) << name;
    }
  }

  TemporaryFolder folder_;
  Checkpoint gguf_;
  std::filesystem::path out_;
};

TEST(ConvertGptOss, ExpertsComeOutOneByOne) {
  for (const char* name : {"gpt_oss_folder", "gpt_oss_mxfp4"}) {
    const TemporaryFolder folder;
    const auto model =
        Checkpoint::open(std::filesystem::path(AUGUR_SOURCE_DIR) / "tests/golden/models" / name);
    convert_to_folder(model, folder / "out", ConvertOptions{});
    const auto converted = Checkpoint::open(folder / "out");
    EXPECT_FALSE(converted.config().contains("quantization_config"));
    ASSERT_EQ(converted.weights().tensors().size(), model.weights().tensors().size());
    for (const auto& [key, tensor] : model.weights().tensors()) {
      const StoredTensor& other = converted.weights().require(key, tensor.shape);
      EXPECT_EQ(other.dtype, DType::BF16) << key;
      const std::int64_t rows = tensor.shape.size() == 1 ? 1 : tensor.shape[0];
      std::vector<float> expected(static_cast<std::size_t>(tensor.shape.back() * rows));
      std::vector<float> found(expected.size());
      read_rows(tensor, 0, rows, expected.data());
      read_rows(other, 0, rows, found.data());
      EXPECT_EQ(found, expected) << key;  // four bits and a power of two are exact
    }
  }
}

TEST_F(ConvertTest, GivesTheSameModel) {
  std::vector<int> steps;
  convert_to_folder(gguf_, out_, [&](int done, int total) {
    steps.push_back(done);
    EXPECT_EQ(total, 3);
  });
  EXPECT_EQ(steps, (std::vector<int>{1, 2, 3}));
  const auto folder = Checkpoint::open(out_);
  EXPECT_EQ(folder.config(), gguf_.config());
  auto generation = gguf_.generation_config();
  generation["eos_token_id"] = gguf_.load_tokenizer()->eos;  // of which the metadata name one
  EXPECT_EQ(folder.generation_config(), generation);
  EXPECT_EQ(folder.chat_template(), gguf_.chat_template());
  expect_same_weights(folder);
  const auto before = gguf_.load_tokenizer();
  const auto after = folder.load_tokenizer();
  EXPECT_EQ(after->vocab_size(), before->vocab_size());
  EXPECT_EQ(after->bos, before->bos);
  EXPECT_EQ(before->eos.size(), 2u);
  EXPECT_EQ(after->eos, before->eos);
  EXPECT_EQ(after->add_bos, before->add_bos);
  for (const char* text : {"hello hello", "<|begin|>hell<|end|>!", "", "12345 they'll"}) {
    EXPECT_EQ(after->encode(text), before->encode(text)) << text;
  }
}

TEST_F(ConvertTest, WritesShards) {
  ConvertOptions options;
  options.max_shard_bytes = 1700;
  convert_to_folder(gguf_, out_, options);
  EXPECT_TRUE(file_exists(out_ / "model.safetensors.index.json"));
  EXPECT_TRUE(file_exists(out_ / "model-00001-of-00002.safetensors"));
  EXPECT_FALSE(file_exists(out_ / "model.safetensors"));
  expect_same_weights(Checkpoint::open(out_));
}

TEST_F(ConvertTest, TakesFoldersToo) {
  convert_to_folder(gguf_, out_, nullptr);
  const auto folder = Checkpoint::open(out_);
  convert_to_folder(folder, folder_ / "again", nullptr);
  const auto again = Checkpoint::open(folder_ / "again");
  EXPECT_EQ(again.config(), folder.config());
  expect_same_weights(again);
  EXPECT_EQ(again.load_tokenizer()->encode("hello"), folder.load_tokenizer()->encode("hello"));
}

TEST_F(ConvertTest, OverwritesNothing) {
  std::filesystem::create_directory(out_);
  std::ofstream(out_ / "mine") << "x";
  expect_error([&] { convert_to_folder(gguf_, out_, nullptr); }, {out_.string(), "not empty"});
  expect_error([&] { convert_to_folder(gguf_, folder_ / "m.gguf", nullptr); }, {"m.gguf"});
  const auto vocabulary =
      Checkpoint::open(folder_.write("v.gguf", GgufBuilder().text("general.architecture", "llama").build()));
  expect_error([&] { convert_to_folder(vocabulary, folder_ / "none", nullptr); }, {"v.gguf", "no weights"});
  EXPECT_FALSE(file_exists(folder_ / "none"));
}

GgufVocabulary sentencepiece_vocabulary() {
  GgufVocabulary vocabulary;
  vocabulary.file = "f.gguf";
  vocabulary.model = "llama";
  vocabulary.tokens = {"<unk>", "<s>", "</s>", "▁", "a", "b", "ab", "▁ab", "aba"};
  vocabulary.scores = {0, 0, 0, -9, -8, -7, -2, -1, -3};
  vocabulary.token_types = {2, 3, 3, 1, 1, 1, 1, 1, 1};
  vocabulary.bos = 1;
  vocabulary.unk = 0;
  return vocabulary;
}

TEST_F(ConvertTest, LeavesNothingBehindWhereItFails) {
  std::string other = small_gguf();
  other.replace(other.find("llama-bpe"), 9, "klingon-1");
  const Checkpoint unknown = Checkpoint::open(folder_.write("unknown.gguf", other));
  const auto convert = [&] { convert_to_folder(unknown, out_, ConvertOptions{}); };
  expect_error(convert, {"unknown.gguf", "tokenizer.ggml.pre", "klingon-1"});
  EXPECT_FALSE(std::filesystem::exists(out_));
  std::filesystem::create_directory(out_);
  expect_error(convert, {"unknown.gguf", "tokenizer.ggml.pre", "klingon-1"});
  EXPECT_TRUE(std::filesystem::is_empty(out_));
  expect_error(
      [&] {
        convert_to_folder(gguf_, out_, ConvertOptions{.progress = [](int, int) { throw Error("full"); }});
      },
      {"full"});
  EXPECT_TRUE(std::filesystem::is_empty(out_)) << "files that were complete already";
}

TEST(TokenizerExport, DerivesMergesFromScores) {
  const auto json = export_tokenizer_json(sentencepiece_vocabulary(), true);
  EXPECT_EQ(json["model"]["merges"], (nlohmann::ordered_json{"▁ ab", "a b", "ab a"}));
  EXPECT_EQ(json["model"]["byte_fallback"], true);
  EXPECT_EQ(json["model"]["unk_token"], "<unk>");
  EXPECT_EQ(json["model"]["vocab"]["▁ab"], 7);
  EXPECT_EQ(json["added_tokens"].size(), 3u);
  EXPECT_EQ(json["post_processor"]["single"][0]["SpecialToken"]["id"], "<s>");
  EXPECT_EQ(json["normalizer"]["normalizers"].size(), 2u);
  auto unprefixed = sentencepiece_vocabulary();
  unprefixed.add_space_prefix = false;
  EXPECT_EQ(export_tokenizer_json(unprefixed, false)["normalizer"]["type"], "Replace");
  EXPECT_EQ(export_tokenizer_json(unprefixed, false)["post_processor"], nullptr);
}

TEST(TokenizerExport, NamesTheSpecialTokens) {
  const auto config = export_tokenizer_config(sentencepiece_vocabulary(), true);
  EXPECT_EQ(config["bos_token"], "<s>");
  EXPECT_EQ(config["unk_token"], "<unk>");
  EXPECT_EQ(config["add_bos_token"], true);
  EXPECT_FALSE(config.contains("eos_token"));
}

TEST(TokenizerExport, RefusesWhatItCannotWrite) {
  const auto refused = [](const GgufVocabulary& vocabulary, std::initializer_list<std::string_view> parts) {
    expect_error([&] { export_tokenizer_json(vocabulary, false); }, parts);
  };
  auto vocabulary = sentencepiece_vocabulary();
  vocabulary.model = "bert";
  refused(vocabulary, {"f.gguf", "tokenizer.ggml.model", "bert"});
  vocabulary.model = "gpt2";
  vocabulary.pre = "strange";
  refused(vocabulary, {"f.gguf", "tokenizer.ggml.pre", "strange"});
  vocabulary = sentencepiece_vocabulary();
  vocabulary.tokens[5] = "a";
  refused(vocabulary, {"f.gguf", "token 5", "twice"});
  vocabulary.tokens[5] = "\xff";
  refused(vocabulary, {"f.gguf", "token 5", "UTF-8"});
  vocabulary = sentencepiece_vocabulary();
  vocabulary.scores.clear();
  refused(vocabulary, {"f.gguf", "scores"});
}

}  // namespace
}  // namespace augur
