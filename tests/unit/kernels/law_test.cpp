#include "kernels/law.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/arithmetic_law.h"
#include "base/error.h"

namespace augur {
namespace {

TEST(Law, OnlyTheTileUnitsProductsOfBf16AreOfTheSecond) {
  for (const Isa isa : all_isas()) {
    for (const DType type : {DType::BF16, DType::F32, DType::Q8_0, DType::Q4_K}) {
      const bool blocks = isa == Isa::Amx && type == DType::BF16;
      EXPECT_EQ(law_of(isa, type), blocks ? ArithmeticLaw::Blocks : ArithmeticLaw::Chain)
          << name(isa) << name(type);
    }
  }
}

TEST(Law, AModelIsOfTheSecondWhereAnyMatrixOfItIs) {
  const std::vector<DType> mixed = {DType::Q4_K, DType::BF16}, whole = {DType::Q4_K, DType::F32};
  for (const Isa isa : all_isas()) {
    EXPECT_EQ(law_number(isa, mixed), isa == Isa::Amx ? kBlocksLaw : kArithmeticLaw) << name(isa);
    EXPECT_EQ(law_number(isa, whole), kArithmeticLaw) << name(isa);
  }
}

TEST(Law, TheChainIsThereOnEveryProcessor) {
  for (const Isa isa : all_isas()) {
    EXPECT_EQ(isa_under(ArithmeticLaw::Auto, isa), isa);
    EXPECT_EQ(isa_under(ArithmeticLaw::Chain, isa), isa == Isa::Amx ? Isa::Avx512Bf16 : isa);
    EXPECT_EQ(law_of(isa_under(ArithmeticLaw::Chain, isa), DType::BF16), ArithmeticLaw::Chain);
  }
}

TEST(Law, BlocksTakeTheTileUnit) {
  EXPECT_EQ(isa_under(ArithmeticLaw::Blocks, Isa::Amx), Isa::Amx);
  for (const Isa isa : all_isas()) {
    if (isa == Isa::Amx) continue;
    try {
      isa_under(ArithmeticLaw::Blocks, isa);
      ADD_FAILURE() << name(isa);
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("'blocks'"), testing::HasSubstr("AMX"),
                                           testing::HasSubstr(std::string(name(isa)))));
    }
  }
}

}  // namespace
}  // namespace augur
