#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/text/tokenizer_files.h"

namespace augur {
namespace {

using namespace testing_tokenizers;

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
  std::vector<Reference> texts() const { return references(GetParam().reference, GetParam().marker); }
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

}  // namespace
}  // namespace augur
