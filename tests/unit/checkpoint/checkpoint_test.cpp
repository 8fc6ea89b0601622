#include "checkpoint/checkpoint.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "checkpoint/token_ids.h"
#include "files/gguf/gguf.h"
#include "support/test_files.h"
#include "text/tokenizer/loaders.h"

namespace augur {
namespace {

using test::expect_error;
using test::GgufBuilder;
using test::raw;
using test::safetensors_file;
using test::TemporaryFolder;
using Json = nlohmann::json;

/// A byte-level vocabulary of four tokens, the last one special.
constexpr std::string_view kTokenizerJson =
    R"({"version":"1.0","added_tokens":[{"id":3,"content":"<end>","special":true}],
  "normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":true},
  "post_processor":null,"decoder":{"type":"ByteLevel"},
  "model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}})";
constexpr std::string_view kConfig =
    R"({"model_type":"llama","vocab_size":4,"bos_token_id":0,"eos_token_id":3})";

const std::string kWeights =
    safetensors_file(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", raw(1.0f));

GgufBuilder vocabulary_only() {
  return GgufBuilder()
      .text("general.architecture", "llama")
      .text("tokenizer.ggml.model", "gpt2")
      .text("tokenizer.ggml.pre", "gpt-2")
      .strings("tokenizer.ggml.tokens", {"a", "b", "ab", "<end>"})
      .array("tokenizer.ggml.token_type", GgufType::I32, std::vector<std::int32_t>{1, 1, 1, 3})
      .strings("tokenizer.ggml.merges", {"a b"})
      .u32("tokenizer.ggml.eos_token_id", 3);
}

/// A vocabulary whose last tokens are these, special ones; the first of them has the id 3.
GgufBuilder vocabulary_with(const std::vector<std::string>& special) {
  std::vector<std::string> tokens = {"a", "b", "ab"};
  std::vector<std::int32_t> types = {1, 1, 1};
  for (const std::string& token : special) {
    tokens.push_back(token);
    types.push_back(3);
  }
  return GgufBuilder()
      .text("general.architecture", "gpt-oss")
      .text("tokenizer.ggml.model", "gpt2")
      .text("tokenizer.ggml.pre", "gpt-4o")
      .strings("tokenizer.ggml.tokens", tokens)
      .array("tokenizer.ggml.token_type", GgufType::I32, types)
      .strings("tokenizer.ggml.merges", {"a b"});
}

class FolderTest : public ::testing::Test {
 protected:
  Checkpoint open() const { return Checkpoint::open(folder_.path()); }
  TemporaryFolder folder_;
};

TEST_F(FolderTest, WholeModel) {
  folder_.write("config.json", kConfig);
  folder_.write("generation_config.json", R"({"eos_token_id":[3,1]})");
  folder_.write("model.safetensors", kWeights);
  folder_.write("tokenizer.json", kTokenizerJson);
  folder_.write("tokenizer_config.json", R"({"chat_template":"T"})");
  const auto model = open();
  EXPECT_FALSE(model.is_gguf());
  EXPECT_EQ(model.config()["model_type"], "llama");
  EXPECT_EQ(model.weights().tensors().size(), 1u);
  EXPECT_EQ(model.chat_template(), "T");
  const auto tokenizer = model.load_tokenizer();
  EXPECT_EQ(tokenizer->encode("ab<end>"), (std::vector<TokenId>{2, 3}));
  EXPECT_EQ(tokenizer->bos, 0);
  EXPECT_EQ(tokenizer->eos, (std::vector<TokenId>{3, 1}));
}

TEST_F(FolderTest, TokenizerOnly) {
  folder_.write("tokenizer.json", kTokenizerJson);
  const auto model = open();
  EXPECT_EQ(model.load_tokenizer()->encode("ba"), (std::vector<TokenId>{1, 0}));
  EXPECT_EQ(model.config(), Json::object());
  EXPECT_EQ(model.chat_template(), std::nullopt);
  expect_error([&] { model.weights(); }, {folder_.path().string(), "no weights", "model.safetensors"});
}

TEST_F(FolderTest, ConfigurationOnly) {
  folder_.write("config.json", kConfig);
  const auto model = open();
  expect_error([&] { model.load_tokenizer(); }, {folder_.path().string(), "no tokenizer"});
  const auto alone = Checkpoint::open(folder_ / "config.json");
  EXPECT_EQ(alone.config(), model.config());
  expect_error([&] { alone.weights(); }, {"config.json", "no weights"});
}

TEST_F(FolderTest, ChatTemplates) {
  folder_.write("tokenizer.json", kTokenizerJson);
  EXPECT_EQ(open().chat_template(), std::nullopt);
  folder_.write("chat_template.json", R"({"chat_template":"old"})");
  EXPECT_EQ(open().chat_template(), "old");
  folder_.write(
      "tokenizer_config.json",
      R"({"chat_template":[{"name":"tools","template":"no"},{"name":"default","template":"yes"}]})");
  EXPECT_EQ(open().chat_template(), "yes");
  folder_.write("chat_template.jinja", "file");
  EXPECT_EQ(open().chat_template(), "file");
  std::filesystem::remove(folder_ / "chat_template.jinja");
  for (const char* bad : {R"({"chat_template":7})", R"({"chat_template":[{"name":"tools","template":"x"}]})",
                          R"({"chat_template":[{"name":["default"],"template":"x"}]})"}) {
    folder_.write("tokenizer_config.json", bad);
    expect_error([&] { open().chat_template(); }, {"tokenizer_config.json", "chat_template"});
  }
}

TEST_F(FolderTest, RefusesBadIds) {
  folder_.write("tokenizer.json", kTokenizerJson);
  for (const char* bad : {R"({"eos_token_id":4})", R"({"eos_token_id":-1})", R"({"eos_token_id":[3,4]})",
                          R"({"eos_token_id":"3"})", R"({"eos_token_id":1.5})",
                          R"({"eos_token_id":18446744073709551615})", R"({"bos_token_id":4})"}) {
    folder_.write("generation_config.json", bad);
    expect_error([&] { open().load_tokenizer(); }, {folder_.path().string(), "_token_id"});
  }
  const auto suppressed = [&] { return suppressed_tokens(open(), *open().load_tokenizer()); };
  for (const char* bad :
       {R"({"suppress_tokens":[4]})", R"({"suppress_tokens":["a"]})", R"({"suppress_tokens":{}})"}) {
    folder_.write("generation_config.json", bad);
    expect_error([&] { suppressed(); }, {folder_.path().string(), "suppress_tokens"});
  }
  for (const char* none : {R"({"suppress_tokens":null})", R"({"suppress_tokens":[]})"}) {
    folder_.write("generation_config.json", none);
    EXPECT_TRUE(suppressed().empty());
  }
  folder_.write("generation_config.json", R"({"suppress_tokens":[1,3]})");
  EXPECT_EQ(suppressed(), (std::vector<TokenId>{1, 3}));
  // An embedding may have more rows than there are tokens.
  folder_.write("generation_config.json", R"({"eos_token_id":4})");
  folder_.write("config.json", R"({"vocab_size":64,"bos_token_id":null})");
  EXPECT_EQ(open().load_tokenizer()->eos, std::vector<TokenId>{4});
  folder_.write("config.json", R"({"vocab_size":"64"})");
  expect_error([&] { open().load_tokenizer(); }, {"vocab_size"});
}

using Ids = std::vector<TokenId>;

// In gpt-oss's format a turn is several messages: <|end|> ends one, <|return|> and <|call|> end the turn.
TEST_F(FolderTest, AMessagesEndDoesNotEndATurnOfSeveral) {
  const auto ends = [&](const std::vector<std::string>& special, auto... eot) {
    GgufBuilder file = vocabulary_with(special);
    file.u32("tokenizer.ggml.eos_token_id", 3);
    (file.u32("tokenizer.ggml.eot_token_id", eot), ...);
    folder_.write("m.gguf", file.build());
    return Checkpoint::open(folder_ / "m.gguf").load_tokenizer()->eos;
  };
  EXPECT_EQ(ends({"<|return|>", "<|endoftext|>", "<|end|>", "<|call|>"}), (Ids{3, 4, 6}));
  EXPECT_EQ(ends({"<|return|>", "<|end|>", "<|call|>"}, 4u), (Ids{3, 5})) << "whatever names it";
  EXPECT_EQ(ends({"<|endoftext|>", "<|end|>", "<|call|>"}), (Ids{3, 5, 4})) << "Phi's ends a turn";

  // A folder's lists are no other.
  folder_.write("tokenizer.json",
                R"({"added_tokens":[{"id":3,"content":"<|return|>","special":true},
  {"id":4,"content":"<|end|>","special":true},{"id":5,"content":"<|call|>","special":true}],
  "pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":true},"decoder":{"type":"ByteLevel"},
  "model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}})");
  folder_.write("generation_config.json", R"({"eos_token_id":[3,5,4]})");
  EXPECT_EQ(open().load_tokenizer()->eos, (Ids{3, 5}));
  folder_.write("generation_config.json", R"({"eos_token_id":[3,5]})");
  EXPECT_EQ(open().load_tokenizer()->eos, (Ids{3, 5}));
}

TEST_F(FolderTest, AGgufFilesListOfEndsIsRead) {
  const auto open_with = [&](GgufBuilder file) {
    folder_.write("m.gguf", file.u32("tokenizer.ggml.eos_token_id", 3).build());
    return Checkpoint::open(folder_ / "m.gguf").load_tokenizer()->eos;
  };
  constexpr const char* kKey = "tokenizer.ggml.eos_token_ids";
  const auto list = [&](const std::vector<std::int32_t>& ids) {
    return vocabulary_with({"<one>", "<two>", "<three>"}).array(kKey, GgufType::I32, ids);
  };
  EXPECT_EQ(open_with(list({3, 5, 4})), (Ids{3, 5, 4}));
  EXPECT_EQ(open_with(list({})), Ids{3});
  EXPECT_EQ(open_with(list({-1, 4, 4})), (Ids{3, 4}));
  expect_error([&] { open_with(list({6})); }, {"m.gguf", kKey, "6"});
  expect_error([&] { open_with(list({-7})); }, {"m.gguf", kKey, "-7"});
  expect_error([&] { open_with(vocabulary_with({"<one>"}).u32(kKey, 3)); }, {"m.gguf", kKey});
}

TEST_F(FolderTest, RefusesWhatIsNoModel) {
  expect_error([&] { open(); }, {folder_.path().string(), "config.json"});
  expect_error([&] { Checkpoint::open(folder_ / "none"); }, {"none", "no such"});
  expect_error([&] { Checkpoint::open(std::string(10000, 'x')); }, {"no such"});
  folder_.write("config.json", "[]");
  expect_error([&] { open(); }, {"config.json", "object"});
  folder_.write("config.json", "{");
  expect_error([&] { open(); }, {"config.json", "invalid JSON"});
  folder_.write("x.json", "{}");
  expect_error([&] { Checkpoint::open(folder_ / "x.json"); }, {"x.json", "neither"});
  folder_.write("x.bin", "PK");
  expect_error([&] { Checkpoint::open(folder_ / "x.bin"); }, {"x.bin", "GGUF"});
}

TEST_F(FolderTest, AFifoIsRefusedWithoutWaitingForItsWriter) {
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  expect_error([&] { Checkpoint::open(folder_ / "fifo"); }, {"fifo", "regular file"});
}

TEST_F(FolderTest, LoneTokenizers) {
  const auto json = folder_.write("some.tokenizer.json", kTokenizerJson);
  EXPECT_EQ(Checkpoint::open(json).load_tokenizer()->encode("ab"), std::vector<TokenId>{2});
  const auto spm = folder_.write("some.tokenizer.model", "not a SentencePiece model");
  expect_error([&] { Checkpoint::open(spm).load_tokenizer(); }, {"some.tokenizer.model"});
}

TEST_F(FolderTest, GgufWithVocabularyOnly) {
  const auto path =
      folder_.write("renamed.bin", vocabulary_only().text("tokenizer.chat_template", "T").build());
  const auto model = Checkpoint::open(path);  // known by its content
  EXPECT_TRUE(model.is_gguf());
  const auto tokenizer = model.load_tokenizer();
  EXPECT_EQ(tokenizer->encode("ab<end>"), (std::vector<TokenId>{2, 3}));
  EXPECT_EQ(tokenizer->eos, std::vector<TokenId>{3});
  EXPECT_EQ(model.chat_template(), "T");
  EXPECT_EQ(model.generation_config(), (Json{{"eos_token_id", 3}}));
  expect_error([&] { model.weights(); }, {"renamed.bin", "vocabulary only"});
}

TEST_F(FolderTest, GgufWithoutVocabulary) {
  const auto path = folder_.write("x.gguf", GgufBuilder().text("general.architecture", "llama").build());
  expect_error([&] { Checkpoint::open(path).load_tokenizer(); }, {"x.gguf", "vocabulary"});
}

}  // namespace
}  // namespace augur
