#include "base/cpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"

namespace augur {
namespace {

TEST(CpuFeatures, AreSets) {
  constexpr CpuFeatures none;
  constexpr CpuFeatures two = {CpuFeature::Avx2, CpuFeature::AmxBf16};
  EXPECT_TRUE(two.has(CpuFeature::Avx2));
  EXPECT_TRUE(two.has(CpuFeature::AmxBf16));
  EXPECT_FALSE(two.has(CpuFeature::Avx512));
  EXPECT_TRUE(two.has_all(none));
  EXPECT_TRUE(two.has_all({CpuFeature::AmxBf16}));
  EXPECT_FALSE(two.has_all({CpuFeature::AmxBf16, CpuFeature::Avx512}));
  EXPECT_FALSE(none.has_all(two));
}

TEST(Isa, HasOneListOfPreference) {
  const std::vector<Isa> all = all_isas();
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(names.insert(name(all[i])).second) << name(all[i]);
    EXPECT_EQ(parse_isa(name(all[i])), all[i]);
    // Behind a variant that asks for less, one could never be chosen.
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(features(all[i]).has_all(features(all[j])));
  }
  EXPECT_EQ(all.back(), Isa::Portable);
  EXPECT_THROW(parse_isa("sse2"), Error);
}

TEST(Isa, IsSupportedWhereTheProcessorHasItsFeatures) {
  std::vector<Isa> expected = all_isas();
  std::erase_if(expected, [](Isa isa) { return !cpu_features().has_all(features(isa)); });
  std::reverse(expected.begin(), expected.end());
  EXPECT_EQ(supported_isas(), expected);
  EXPECT_EQ(supported_isas().front(), Isa::Portable);
}

}  // namespace
}  // namespace augur
