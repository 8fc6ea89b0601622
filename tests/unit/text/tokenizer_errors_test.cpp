#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/error_of.h"
#include "text/tokenizer/from_memory.h"
#include "text/tokenizer/loaders.h"
#include "text/tokenizer/spm_model.h"
#include "text/tokenizer/turns.h"

namespace augur {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StrEq;
using testing::UnorderedElementsAre;
using testing_support::error_of;

json minimal() {
  return {{"added_tokens", json::array()},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model", {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}}}, {"merges", {"a b"}}}}};
}

std::string load_error(const json& content, const json& config = {}) {
  return error_of([&] { tokenizer_from_json(content, "tokenizer.json", config); });
}

TEST(TokenizerJson, MinimalFileLoads) {
  const auto tokenizer = tokenizer_from_json(minimal(), "tokenizer.json", {});
  EXPECT_THAT(tokenizer->encode("abba"), testing::ElementsAre(2, 1, 0));
}

TEST(TokenizerJson, MalformedFilesNameFileAndField) {
  EXPECT_THAT(load_error(json::array()), HasSubstr("tokenizer.json: expected an object"));
  EXPECT_THAT(load_error(json::object()), HasSubstr("tokenizer.json: model: missing"));
  const auto with = [](auto change) {
    json content = minimal();
    change(content);
    return load_error(content);
  };
  EXPECT_THAT(with([](json& c) { c["model"]["type"] = "Unigram"; }),
              AllOf(HasSubstr("model: type"), HasSubstr("Unigram")));
  EXPECT_THAT(with([](json& c) { c["model"]["vocab"] = 3; }), HasSubstr("model: vocab: expected an object"));
  EXPECT_THAT(with([](json& c) { c["model"]["vocab"]["a"] = "x"; }),
              HasSubstr("vocab: \"a\": expected an integer"));
  EXPECT_THAT(with([](json& c) { c["model"]["vocab"]["a"] = -1; }), HasSubstr("token id -1 is out of range"));
  EXPECT_THAT(with([](json& c) { c["model"]["vocab"]["a"] = 1ll << 40; }), HasSubstr("out of range"));
  EXPECT_THAT(with([](json& c) { c["model"]["vocab"]["a"] = 1 << 17; }), HasSubstr("out of range"));
  EXPECT_THAT(with([](json& c) { c["model"]["merges"] = {"ab"}; }), HasSubstr("merges[0]"));
  EXPECT_THAT(with([](json& c) { c["model"]["merges"] = {"a b", {"a", 1}}; }), HasSubstr("merges[1]"));
  EXPECT_THAT(with([](json& c) { c["model"]["merges"] = {"a c"}; }),
              HasSubstr("\"c\", which is not in the vocabulary"));
  EXPECT_THAT(with([](json& c) { c["model"]["merges"] = {"b a"}; }), HasSubstr("merge of \"b\" and \"a\""));
  EXPECT_THAT(with([](json& c) { c["model"]["dropout"] = 0.1; }), HasSubstr("dropout"));
  EXPECT_THAT(with([](json& c) { c["model"]["end_of_word_suffix"] = "</w>"; }),
              HasSubstr("end_of_word_suffix"));
  EXPECT_THAT(with([](json& c) { c["model"]["unk_token"] = "?"; }), HasSubstr("unk_token"));
  EXPECT_THAT(with([](json& c) { c["model"]["byte_fallback"] = 1; }), HasSubstr("byte_fallback"));
  EXPECT_THAT(with([](json& c) {
                c["normalizer"] = {{"type", "Nope"}};
              }),
              AllOf(HasSubstr("normalizer"), HasSubstr("\"Nope\"")));
  EXPECT_THAT(with([](json& c) {
                c["pre_tokenizer"] = {{"type", "Nope"}};
              }),
              AllOf(HasSubstr("pre_tokenizer"), HasSubstr("\"Nope\"")));
  EXPECT_THAT(with([](json& c) {
                c["decoder"] = {{"type", "Nope"}};
              }),
              AllOf(HasSubstr("decoder"), HasSubstr("\"Nope\"")));
  EXPECT_THAT(with([](json& c) { c["post_processor"] = {{"type", "Nope"}}; }), HasSubstr("post_processor"));
  EXPECT_THAT(
      with([](json& c) {
        c["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", "(["}}}, {"behavior", "Isolated"}};
      }),
      HasSubstr("malformed pattern"));
  EXPECT_THAT(with([](json& c) {
                c["pre_tokenizer"] = {{"type", "Split"}, {"pattern", "x"}, {"behavior", "Isolated"}};
              }),
              HasSubstr("pattern"));
  EXPECT_THAT(
      with([](json& c) {
        c["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"String", "x"}}}, {"behavior", "Nope"}};
      }),
      HasSubstr("unknown behavior \"Nope\""));
  EXPECT_THAT(with([](json& c) {
                c["pre_tokenizer"] = {{"type", "Sequence"},
                                      {"pretokenizers", {{{"type", "ByteLevel"}}, {{"type", "ByteLevel"}}}}};
              }),
              HasSubstr("ByteLevel is supported only once"));
  for (const json& steps : {json{{"a", {{"type", "ByteLevel"}}}}, json("ByteLevel"), json(7)})
    EXPECT_THAT(with([&](json& c) {
                  c["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", steps}};
                }),
                HasSubstr("pretokenizers: expected an array"));
  EXPECT_THAT(with([](json& c) {
                c["added_tokens"] = {{{"id", 3}}};
              }),
              HasSubstr("added_tokens[0]: content"));
  EXPECT_THAT(with([](json& c) {
                c["added_tokens"] = {{{"content", "x"}}};
              }),
              HasSubstr("added_tokens[0]: id: missing"));
}

TEST(TokenizerJson, ConfigurationErrorsNameTheField) {
  EXPECT_THAT(load_error(minimal(), {{"bos_token", "<s>"}}),
              HasSubstr("bos_token: \"<s>\" is not in the vocabulary"));
  EXPECT_THAT(load_error(minimal(), {{"eos_token", 3}}), HasSubstr("tokenizer_config.json: eos_token"));
  EXPECT_THAT(load_error(minimal(), {{"add_bos_token", "yes"}}), HasSubstr("add_bos_token"));
  EXPECT_THAT(load_error(minimal(), {{"added_tokens_decoder", {{"x", {{"content", "y"}}}}}}),
              HasSubstr("added_tokens_decoder.x"));
}

// A hundred thousand added tokens, which the configuration names again, and as many more: comparing each with
// each would take minutes.
TEST(TokenizerJson, ManyAddedTokensAreReadOnce) {
  constexpr int kCount = 100'000;
  json content = minimal();
  json decoder = json::object();
  for (int i = 0; i < kCount; ++i) {
    const std::string text = "<" + std::to_string(i) + ">";
    content["added_tokens"].push_back({{"id", 3 + i}, {"content", text}, {"special", true}});
    decoder[std::to_string(3 + i)] = {{"content", text}, {"special", true}};
    decoder[std::to_string(3 + kCount + i)] = {{"content", "<+" + text}, {"special", true}};
  }
  const auto tokenizer = tokenizer_from_json(content, "tokenizer.json", {{"added_tokens_decoder", decoder}});
  EXPECT_EQ(tokenizer->vocab_size(), 3 + 2 * kCount);
  EXPECT_THAT(tokenizer->encode("<0><99999>ab<+<0>"), testing::ElementsAre(3, 3 + 99999, 2, 3 + kCount));
}

TEST(TokenizerJson, AddedTokensAreNoTexts) {
  json content = minimal();
  const auto add = [&](std::size_t length) {
    content["added_tokens"] = {{{"id", 3}, {"content", std::string(length, 'x')}, {"special", true}}};
  };
  add(512);
  EXPECT_EQ(load_error(content), "no error");
  add(513);
  EXPECT_THAT(load_error(content), AllOf(HasSubstr("added token 3"), HasSubstr("513 bytes")));
}

TEST(TokenizerJson, PatternsThatBacktrackWithoutEndAreErrors) {
  json content = minimal();
  content["pre_tokenizer"] = {{"type", "Sequence"},
                              {"pretokenizers",
                               {{{"type", "Split"},
                                 {"pattern", {{"Regex", "(a+)+(a+)+$|(b|b)*c(?=(a+)+$)"}}},
                                 {"behavior", "Isolated"}},
                                {{"type", "ByteLevel"}}}}};
  const auto tokenizer = tokenizer_from_json(content, "tokenizer.json", {});
  EXPECT_THAT(error_of([&] { tokenizer->encode(std::string(5000, 'a') + "b"); }),
              HasSubstr("matching failed"));
}

GgufVocabulary gguf(const std::string& model, const std::string& pre) {
  GgufVocabulary out;
  out.file = "m.gguf";
  out.model = model;
  out.pre = pre;
  out.tokens = {"<s>", "a", "b", "ab", "\xC4\xA0"};
  out.token_types = {3, 1, 1, 1, 1};
  if (model == "llama")
    out.scores = {0, -1, -2, -3, -4};
  else
    out.merges = {"a b"};
  return out;
}

TEST(GgufTokenizer, UnknownKindsAreNamed) {
  const auto error = [](const GgufVocabulary& v) { return error_of([&] { load_gguf_tokenizer(v); }); };
  EXPECT_THAT(error(gguf("bert", "")), AllOf(HasSubstr("m.gguf"), HasSubstr("\"bert\"")));
  EXPECT_THAT(error(gguf("gpt2", "klingon")),
              StrEq("m.gguf: tokenizer.ggml.pre: unknown pre-tokenizer \"klingon\""));
  EXPECT_THAT(error(gguf("gpt2", "qwen3")),
              StrEq("m.gguf: tokenizer.ggml.pre: unknown pre-tokenizer \"qwen3\" (\"qwen2\" is known)"));
  GgufVocabulary bad = gguf("gpt2", "gpt-2");
  bad.merges = {"ab"};
  EXPECT_THAT(error(bad), HasSubstr("tokenizer.ggml.merges[0]"));
  bad.merges = {"a x"};
  EXPECT_THAT(error(bad), HasSubstr("\"x\""));
  bad = gguf("llama", "");
  bad.scores.clear();
  EXPECT_THAT(error(bad), HasSubstr("tokenizer.ggml.scores: missing"));
  bad = gguf("llama", "");
  bad.tokens[1] = std::string(2000, 'x');
  EXPECT_THAT(error(bad), HasSubstr("2000 bytes"));
}

TEST(GgufTokenizer, PreTokenizersCutAsTheirModelsDo) {
  const auto words = [](const std::string& pre, const std::string& text) {
    GgufVocabulary v = gguf("gpt2", pre);
    v.tokens = {"1",
                "2",
                "12",
                "a",
                "\xC4\xA0",
                "\xC4\xA0"
                "a",
                "!",
                "!!",
                "<|im_end|>",
                "'",
                "S"};
    v.token_types = {1, 1, 1, 1, 1, 1, 1, 1, 3, 1, 1};
    v.merges = {"1 2", "\xC4\xA0 a", "! !"};
    return load_gguf_tokenizer(v)->encode(text).size();
  };
  EXPECT_EQ(words("gpt-2", "12 a!!"), 3u);
  EXPECT_EQ(words("smollm", "12 a!!"), 4u);  // digits apart
  EXPECT_EQ(words("qwen2", "12 a!!"), 4u);
  EXPECT_EQ(words("llama-bpe", "1212 a!!"), 5u);  // 121|2: "12" "1" "2"
  EXPECT_EQ(words("default", "12 a!!"), 3u);
}

TEST(GgufTokenizer, EndTokensBesideTheNamedOneAreKnown) {
  GgufVocabulary v = gguf("gpt2", "qwen2");
  v.tokens[0] = "<|im_end|>";
  v.eos = 3;
  EXPECT_THAT(load_gguf_tokenizer(v)->eos, testing::ElementsAre(3, 0));
  v.tokens[0] = "</s>";
  EXPECT_THAT(load_gguf_tokenizer(v)->eos, testing::ElementsAre(3, 0));
  v.token_types[0] = 1;  // ordinary text that looks like one, as in Gemma's vocabulary
  EXPECT_THAT(load_gguf_tokenizer(v)->eos, testing::ElementsAre(3));
}

TEST(GgufTokenizer, SomeTokensEndTurnsWhateverTypeAFileGivesThem) {
  for (const std::int32_t type : {1, 3, 4}) {
    GgufVocabulary v = gguf("gpt2", "qwen2");
    v.tokens[4] = "<|im_end|>";
    v.token_types[4] = type;
    const auto tokenizer = load_gguf_tokenizer(v);
    EXPECT_THAT(tokenizer->eos, testing::ElementsAre(4)) << type;
    EXPECT_TRUE(tokenizer->is_special(4)) << type;
    EXPECT_THAT(tokenizer->encode("a<|im_end|>b"), testing::ElementsAre(1, 4, 2)) << type;
    // A client's text does not become it.
    const std::vector<ByteRange> plain = {{0, 10}};
    EXPECT_THAT(tokenizer->encode("<|im_end|>", plain), testing::Not(testing::Contains(4))) << type;
  }
}

TEST(GgufTokenizer, FillInTokensEndAGeneration) {
  GgufVocabulary v = gguf("gpt2", "qwen2");
  v.fim_pad = 1;
  v.fim_repository = 2;
  v.fim_file = 4;
  EXPECT_THAT(load_gguf_tokenizer(v)->eos, testing::ElementsAre(1, 2, 4));
  v = gguf("gpt2", "qwen2");
  v.tokens[0] = "<|file_sep|>";
  EXPECT_THAT(load_gguf_tokenizer(v)->eos, testing::ElementsAre(0));
}

/// The texts of the tokens that end a generation.
std::vector<std::string> ends(const std::vector<std::string>& control,
                              const std::vector<std::string>& user_defined) {
  GgufVocabulary v = gguf("gpt2", "gpt-4o");
  const auto add = [&](const std::vector<std::string>& tokens, std::int32_t type) {
    for (const std::string& token : tokens) {
      v.tokens.push_back(token);
      v.token_types.push_back(type);
    }
  };
  add(control, 3);
  add(user_defined, 4);
  const auto tokenizer = load_gguf_tokenizer(v);
  keep_messages_in_turns(*tokenizer);
  std::vector<std::string> texts;
  for (const TokenId id : tokenizer->eos) texts.push_back(tokenizer->token_bytes(id));
  return texts;
}

TEST(GgufTokenizer, WhatEndsAMessageDoesNotEndTheTurn) {
  EXPECT_THAT(ends({"<|end|>", "<|user|>"}, {}), UnorderedElementsAre("<|end|>"));  // Phi's
  EXPECT_THAT(ends({"<|end|>", "<|return|>", "<|call|>", "<|channel|>"}, {}),
              UnorderedElementsAre("<|return|>", "<|call|>"));
  EXPECT_THAT(ends({"<|end|>", "<|flush|>", "<|calls|>"}, {}),
              UnorderedElementsAre("<|flush|>", "<|calls|>"));
  EXPECT_THAT(ends({"<|end|>", "<|return|>"}, {}), UnorderedElementsAre("<|end|>", "<|return|>"));
  // Gemma 4's, whose converter leaves its tool tokens to be printed.
  EXPECT_THAT(ends({"<eos>", "<turn|>", "</s>"}, {"<|tool_response>", "<|tool_call>"}),
              UnorderedElementsAre("<eos>", "<turn|>", "<|tool_response>"));
  EXPECT_THAT(ends({"</s>"}, {}), UnorderedElementsAre("</s>"));
  const std::string deepseek =
      "<\xEF\xBD\x9C"
      "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>";
  EXPECT_THAT(ends({deepseek, "<pad>"}, {}), UnorderedElementsAre(deepseek));
}

TEST(GgufTokenizer, GemmasTokensAreTextWithBytesToFallBackOn) {
  GgufVocabulary v = gguf("gemma4", "");
  v.tokens = {"<bos>",
              "a",
              "\xE2\x96\x81",
              "\xE2\x96\x81"
              "a",
              "<0xC3>",
              "<0xA9>",
              "\n",
              "\n\n",
              "<0x0A>"};
  v.token_types = {3, 1, 1, 1, 6, 6, 1, 1, 6};
  v.merges = {"\xE2\x96\x81 a", "\n \n"};
  v.bos = 0;
  const auto tokenizer = load_gguf_tokenizer(v);
  EXPECT_TRUE(tokenizer->add_bos);
  EXPECT_THAT(tokenizer->encode("a a\xC3\xA9\n\n\n"), testing::ElementsAre(1, 3, 4, 5, 7, 6));
  EXPECT_EQ(tokenizer->decode({1, 3, 4, 5, 7, 6}), "a a\xC3\xA9\n\n\n");
}

TEST(GgufTokenizer, BosIsAddedWhereTheNameSaysSoAndTheFileDoesNot) {
  const auto adds = [](const std::string& pre, std::optional<bool> said = std::nullopt) {
    GgufVocabulary v = gguf("gpt2", pre);
    v.bos = 0;
    v.add_bos = said;
    return load_gguf_tokenizer(v)->add_bos;
  };
  for (const char* pre : {"llama-bpe", "lfm2", "falcon3", "tekken", "chameleon", "gemma4"}) {
    EXPECT_TRUE(adds(pre)) << pre;
    EXPECT_FALSE(adds(pre, false)) << pre;
  }
  for (const char* pre : {"gpt-2", "qwen35", "glm4", "deepseek-v3", "gpt-4o", "minicpm5", ""}) {
    EXPECT_FALSE(adds(pre)) << pre;
    EXPECT_TRUE(adds(pre, true)) << pre;
  }
}

TEST(GgufTokenizer, Qwen2TextIsNormalised) {
  GgufVocabulary v = gguf("gpt2", "qwen2");
  v.tokens = {"\xC3\x83", "\xC2\xA9", "\xC3\x83\xC2\xA9", "e"};  // the bytes of U+00E9 and the two together
  v.token_types = {1, 1, 1, 1};
  v.merges = {"\xC3\x83 \xC2\xA9"};
  EXPECT_THAT(load_gguf_tokenizer(v)->encode("e\xCC\x81"), testing::ElementsAre(2));
}

TEST(SentencePieceModel, MalformedAndUnsupportedModelsAreErrors) {
  const auto error = [](std::string_view content) {
    return error_of([&] { tokenizer_from_sentencepiece(content, "tokenizer.model", {}); });
  };
  EXPECT_THAT(error(""), HasSubstr("tokenizer.model: not a SentencePiece model"));
  EXPECT_THAT(error("hello, this is no model"), HasSubstr("tokenizer.model"));
  EXPECT_THAT(error(std::string_view("\x0A\x7F\x0A\x01"
                                     "a",
                                     5)),
              HasSubstr("ends inside a field"));
  EXPECT_THAT(error(std::string_view("\x0A\x03\x0A\x01"
                                     "a",
                                     5)),
              HasSubstr("model_type"));
  EXPECT_THAT(error(std::string_view("\x0A\x05\x0A\x01"
                                     "a\x18\x09",
                                     7)),
              HasSubstr("pieces[0]: type: unknown value 9"));
  EXPECT_THAT(error(std::string_view("\x0A\x03\x0A\x01"
                                     "a\x12\x02\x18\x02",
                                     9)),
              HasSubstr("remove_extra_whitespaces"));
  const std::string_view good(
      "\x0A\x03\x0A\x01"
      "a\x12\x02\x18\x02\x1A\x02\x20\x00",
      13);
  EXPECT_EQ(error(good), "no error");
  EXPECT_THAT(error(std::string(good) + std::string("\x1A\x03\x12\x01x", 5)),
              HasSubstr("precompiled_charsmap"));
}

}  // namespace
}  // namespace augur
