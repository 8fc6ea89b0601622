#include "hub/hub_model.h"

#include <gtest/gtest.h>

#include "support/error_of.h"

namespace augur {
namespace {

TEST(HubModel, IsReadAsUsersWriteIt) {
  const HubModel plain = HubModel::parse("ggml-org/gemma-3-270m-GGUF");
  EXPECT_EQ(plain.repository, "ggml-org/gemma-3-270m-GGUF");
  EXPECT_EQ(plain.quant, "");
  EXPECT_EQ(plain.name(), "ggml-org/gemma-3-270m-GGUF");
  const HubModel quant = HubModel::parse("a/B_1.5:UD-Q4_K_XL");
  EXPECT_EQ(quant.repository, "a/B_1.5");
  EXPECT_EQ(quant.quant, "UD-Q4_K_XL");
  EXPECT_EQ(quant.name(), "a/B_1.5:UD-Q4_K_XL");
}

TEST(HubModel, OtherNamesAreRefused) {
  const std::string longest(94, 'a');
  EXPECT_NO_THROW(HubModel::parse("a/" + longest));
  for (const std::string& text :
       {std::string(),          std::string("name"),     std::string("/"),
        std::string("a/"),      std::string("/b"),       std::string("a/b/c"),
        std::string("a/b:"),    std::string("a/b:Q4/x"), std::string("a/b:Q4:Q8"),
        std::string("../b"),    std::string("a/.."),     std::string("a/b..c"),
        std::string("a--x/b"),  std::string("a/-b"),     std::string("a/b."),
        std::string("a/b.git"), std::string("a/b c"),    std::string("a/b?x=1"),
        std::string("a/b%2e"),  std::string("a/b\n"),    std::string("a/b\0c", 5),
        std::string("a/ä"),     "a/" + longest + "b",    "a/b:" + std::string(65, 'Q')}) {
    EXPECT_NE(testing_support::error_of([&] { HubModel::parse(text); }), "no error") << text;
  }
}

}  // namespace
}  // namespace augur
