#include <array>
#include <cstdlib>
#include <fstream>
#include <set>

#include "server/hostile/hostile_test.h"
#include "support/eventually.h"

namespace augur::hostile {
namespace {

std::vector<std::string> keys_for(const Kind& kind) {
  if (kind.name != "tenancy") return {};
  return {std::string(kAlice), std::string(kBob)};
}

class CatalogueTest : public HostileTest, public testing::WithParamInterface<Kind> {
 protected:
  CatalogueTest() : HostileTest(keys_for(GetParam())) {}
};

TEST_P(CatalogueTest, IsAnsweredAsDocumented) {
  for (const Case& hostile : GetParam().cases()) check(hostile, !GetParam().before_any_api);
  wait_until_idle();
  EXPECT_TRUE(testing_support::poll_until([&] { return server_.held_bytes() == 0; }));
  EXPECT_EQ(std::filesystem::file_size(folder_.path() / "outside"), 8U);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "nowhere"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, CatalogueTest, testing::ValuesIn(catalogue()),
                         [](const auto& kind) { return kind.param.name; });

TEST(Catalogue, HasManyOfEachKindAndNoneTwice) {
  std::set<std::string> requests;
  std::size_t all = 0;
  for (const Kind& kind : catalogue()) {
    const std::vector<Case> cases = kind.cases();
    EXPECT_GE(cases.size(), 20U) << kind.name;
    std::set<std::string> names;
    for (const Case& hostile : cases) {
      EXPECT_TRUE(names.insert(hostile.name).second) << kind.name << ": " << hostile.name;
      requests.insert(hostile.bytes + std::to_string(static_cast<int>(hostile.then)));
    }
    all += cases.size();
  }
  EXPECT_GE(all, 300U);
  EXPECT_GE(requests.size() + 5, all) << "what is sent again is sent for what came between";
}

constexpr std::array kThen = {"reads", "leaves at once", "leaves midway"};

/// For tests/operation/bench_hostile.py: one object a line, bytes as characters from U+0000 to U+00FF.
TEST(Catalogue, IsWrittenForOthers) {
  const char* const path = std::getenv("AUGUR_HOSTILE_CATALOGUE");
  if (path == nullptr) GTEST_SKIP() << "AUGUR_HOSTILE_CATALOGUE names no file";
  std::ofstream file(path);
  for (const Kind& kind : catalogue()) {
    for (const Case& hostile : kind.cases()) {
      std::string text;
      for (const char c : hostile.bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80) {
          text += c;
        } else {
          text += {static_cast<char>(0xC0 | (byte >> 6)), static_cast<char>(0x80 | (byte & 0x3F))};
        }
      }
      file << nlohmann::json({{"kind", kind.name},
                              {"name", hostile.name},
                              {"bytes", text},
                              {"then", kThen[static_cast<std::size_t>(hostile.then)]},
                              {"statuses", hostile.statuses}})
                  .dump()
           << '\n';
    }
  }
  EXPECT_TRUE(file.good());
}

}  // namespace
}  // namespace augur::hostile
