// The golden vectors of docs/law.md, on everything that this machine has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/arithmetic_law.h"
#include "kernels/law.h"
#include "law_cases.h"
#include "machines.h"

namespace augur::law {
namespace {

using testing::StartsWith;

Vectors golden(ArithmeticLaw law) {
  return read_vectors(fmt::format("{}/tests/golden/law/{}.txt", AUGUR_SOURCE_DIR, to_string(law)),
                      law_number(law));
}

std::string problem(ArithmeticLaw law, const std::vector<Case>& cases, const Vectors& expected,
                    const Machine& machine) {
  const std::string found = difference(compute(cases, machine), expected);
  return found.empty()
             ? ""
             : fmt::format("{}, law {} ({}): {}", machine.name, law_number(law), to_string(law), found);
}

/// Of all cases: the second law's file has only those that are different in it, which come first.
Vectors all_golden(ArithmeticLaw law) {
  Vectors all = golden(ArithmeticLaw::Chain);
  if (law == ArithmeticLaw::Blocks) std::ranges::copy(golden(law), all.begin());
  return all;
}

class LawVectors : public testing::TestWithParam<Isa> {
 protected:
  void TearDown() override { limit_ops_to(select_isa()); }
};

TEST_P(LawVectors, Hold) {
  const ArithmeticLaw own = law_of(GetParam(), DType::BF16);
  EXPECT_EQ(problem(own, cases_of(ArithmeticLaw::Chain), all_golden(own), variant(GetParam())), "");
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, LawVectors, testing::ValuesIn(supported_isas()),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST(LawVectorsOf, PlainLoopsAreThePagesText) {
  for (const ArithmeticLaw law : {ArithmeticLaw::Chain, ArithmeticLaw::Blocks})
    EXPECT_EQ(problem(law, cases_of(law), golden(law), plain_loops(law)), "");
  limit_ops_to(select_isa());
}

TEST(LawVectorsOf, TheEmulatedTileUnitAreTheSecondLaws) {
  EXPECT_EQ(
      problem(ArithmeticLaw::Blocks, bf16_products(), golden(ArithmeticLaw::Blocks), emulated_tile_unit()),
      "");
}

TEST(LawVectorsOf, TheTwoLawsDifferWhereTheyMay) {
  const Vectors chain = golden(ArithmeticLaw::Chain);
  const Vectors blocks = golden(ArithmeticLaw::Blocks);
  int different = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    ASSERT_EQ(chain[i].first, blocks[i].first);
    different += chain[i].second != blocks[i].second ? 1 : 0;
  }
  EXPECT_GT(different, 5);
  EXPECT_EQ(chain[0].second, blocks[0].second) << "one product has one order";
}

TEST(LawVectorsOf, OneWrongBitNamesOperationAndElement) {
  for (const ArithmeticLaw law : {ArithmeticLaw::Chain, ArithmeticLaw::Blocks}) {
    const Vectors right = golden(law);
    Inputs in("one wrong bit");
    for (std::size_t c = 0; c < right.size(); ++c) {
      ASSERT_FALSE(right[c].second.empty()) << right[c].first;
      Vectors wrong = right;
      const std::size_t element = in.word() % wrong[c].second.size();
      wrong[c].second[element] ^= 1u << in.word() % 32;
      EXPECT_THAT(difference(wrong, right),
                  StartsWith(fmt::format("{}: element {} is ", right[c].first, element)));
    }
  }
}

/// A machine whose bf16 products are those of the other law is found out by the operation's name.
TEST(LawVectorsOf, AMachineOfTheOtherLawIsFoundOut) {
  EXPECT_THAT(difference(compute(bf16_products(), emulated_tile_unit()), golden(ArithmeticLaw::Chain)),
              StartsWith("product of BF16: "));
}

}  // namespace
}  // namespace augur::law
