// Each owner's memory is its own, and one for each of the settings that its texts choose.
#include "draft/common/owners_memory.h"

#include <gtest/gtest.h>

namespace augur {
namespace {

/// Of a byte for every entry.
struct Ledger {
  explicit Ledger(int most) : rows(most) {}
  std::int64_t bytes() const { return held; }
  void limit_bytes(std::int64_t most) { held = std::min(held, most); }
  void clear() { held = 0; }
  void release() { held = 0; }

  int rows;
  std::int64_t held = 0;
};

class OwnersLedgers : public testing::Test {
 protected:
  std::shared_ptr<Ledger> of(const std::string& owner, int rows) {
    return memory_.of(owner, std::to_string(rows), [rows] { return std::make_shared<Ledger>(rows); });
  }
  OwnersMemory<Ledger> memory_{[] { return std::make_shared<Ledger>(8); }, 100};
};

TEST_F(OwnersLedgers, AreOnePerOwner) {
  EXPECT_EQ(memory_.of("a"), memory_.of("a"));
  EXPECT_NE(memory_.of("a"), memory_.of("b"));
  EXPECT_EQ(memory_.of("a")->rows, 8);
}

TEST_F(OwnersLedgers, AreOnePerSetting) {
  const auto few = of("a", 4);
  EXPECT_EQ(few->rows, 4);
  EXPECT_EQ(of("a", 16)->rows, 16);
  EXPECT_EQ(of("a", 4), few);
  EXPECT_NE(of("b", 4), few);
}

TEST_F(OwnersLedgers, AreForgottenByUseWhateverTheirSettings) {
  const auto first = of("a", 4);
  const auto second = of("a", 16);
  first->held = second->held = 60;
  of("b", 4);
  EXPECT_EQ(first->held, 0) << "used less recently, and 100 bytes are all there is";
  EXPECT_EQ(second->held, 60);
}

}  // namespace
}  // namespace augur
