#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "support/error_of.h"
#include "text/tokenizer/export.h"
#include "text/tokenizer/from_memory.h"
#include "text/unicode.h"
#include "unit/text/tokenizer_files.h"

namespace augur {
namespace {

using namespace testing_tokenizers;
using testing_support::error_of;

// A vocabulary in one of its formats must give the published ids.
struct Case {
  std::string file;
  std::string reference;
  std::string marker = "__ggml_vocab_test__";
  std::size_t texts = 46;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.file;
}

class ReferenceEncodings : public testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<Tokenizer> tokenizer() const {
    return GetParam().file == "smollm2" ? smollm2() : load(data(GetParam().file));
  }
  std::vector<Reference> texts() const { return references(data(GetParam().reference), GetParam().marker); }
};

TEST_P(ReferenceEncodings, AreReproducedExactly) {
  const auto tokenizer_ = tokenizer();
  const auto texts_ = texts();
  ASSERT_EQ(texts_.size(), GetParam().texts);
  for (const Reference& reference : texts_)
    EXPECT_EQ(tokenizer_->encode(reference.text), reference.ids)
        << "text: " << testing::PrintToString(reference.text);
}

TEST_P(ReferenceEncodings, DecodeToTheText) {
  const auto tokenizer_ = tokenizer();
  for (const Reference& reference : texts())
    EXPECT_EQ(tokenizer_->decode(reference.ids, true), reference.text);
}

TEST_P(ReferenceEncodings, StreamToTheText) {
  const auto tokenizer_ = tokenizer();
  for (const Reference& reference : texts()) {
    StreamDecoder stream(*tokenizer_, true);
    std::string text;
    for (const TokenId id : reference.ids) text += stream.push(id);
    EXPECT_EQ(text + stream.flush(), reference.text);
  }
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, ReferenceEncodings,
                         testing::Values(Case{"gpt-2.gguf", "gpt-2.gguf"},
                                         Case{"gpt-2.tokenizer.json", "gpt-2.gguf"},
                                         Case{"llama-spm.gguf", "llama-spm.gguf"},
                                         Case{"llama-spm.tokenizer.model", "llama-spm.gguf"},
                                         Case{"smollm2", "smollm2", "__vocab_test__", 57}),
                         [](const auto& test) {
                           std::string name = test.param.file;
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

// Vocabularies of a folder, some with texts and ids beside them, as llama.cpp's package has them
// (tests/clients).
TEST(ReferenceEncodings, OfPackages) {
  const char* folder = std::getenv("AUGUR_VOCABULARIES");
  if (folder == nullptr) GTEST_SKIP() << "AUGUR_VOCABULARIES names none";
  int equal = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".gguf")) continue;
    SCOPED_TRACE(entry.path().filename().string());
    const GgufVocabulary vocabulary = *gguf_vocabulary(GgufFile::open(path));
    if (vocabulary.model == "bert" ||
        vocabulary.model == "t5") {  // of encoders, which this project does not run
      EXPECT_THAT(error_of([&] { load_gguf_tokenizer(vocabulary); }),
                  testing::HasSubstr("unsupported tokenizer \"" + vocabulary.model + "\""));
      continue;
    }
    const auto tokenizer = load_gguf_tokenizer(vocabulary);
    if (!std::filesystem::exists(path + ".inp")) continue;
    const auto texts = references(path, "__ggml_vocab_test__");
    EXPECT_GT(texts.size(), 40u);
    // llama.cpp never normalises; this project does where a model's tokenizer.json does (Qwen's).
    std::unique_ptr<Tokenizer> as_it_is;
    if (vocabulary.model != "llama") {
      nlohmann::json exported = export_tokenizer_json(vocabulary, false);
      if (exported["normalizer"] == nlohmann::json{{"type", "NFC"}}) exported["normalizer"] = nullptr;
      as_it_is = tokenizer_from_json(exported, "tokenizer.json", {});
    }
    for (const Reference& reference : texts) {
      const std::string shown = "text: " + testing::PrintToString(reference.text);
      if (as_it_is) {
        EXPECT_EQ(as_it_is->encode(reference.text), reference.ids) << shown;
      }
      if (normalize_utf8(reference.text, NormalForm::Nfc) == reference.text) {
        EXPECT_EQ(tokenizer->encode(reference.text), reference.ids) << shown;
      }
    }
    ++equal;
  }
  std::cout << equal << " vocabularies with texts\n";
  EXPECT_GT(equal, 0);
}

}  // namespace
}  // namespace augur
