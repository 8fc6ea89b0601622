#include "base/shared_parts.h"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>

#include "support/eventually.h"

namespace augur {
namespace {

using testing_support::awaited;
using testing_support::poll_until;

SharedParts::Parts one_part() {
  return {std::make_shared<std::byte>()};
}

class SharedPartsTest : public testing::Test {
 protected:
  SharedParts::Parts get(const SharedParts::Progress& progress = {}) {
    return shared_.get(key_, make_, progress);
  }

  SharedParts& shared_ = SharedParts::of_process();
  const std::string key_ = testing::UnitTest::GetInstance()->current_test_info()->name();
  std::atomic<int> made_ = 0;
  const SharedParts::Make make_ = [this](const SharedParts::Progress&) {
    ++made_;
    return one_part();
  };
};

TEST_F(SharedPartsTest, AreMadeOnceAndGoWithTheLastWhoUsesThem) {
  auto first = get();
  auto second = get();
  EXPECT_EQ(first, second);
  EXPECT_EQ(made_, 1);
  const std::weak_ptr<void> held = first.front();
  first.clear();
  EXPECT_FALSE(held.expired());
  second.clear();
  EXPECT_TRUE(held.expired());
  get();
  EXPECT_EQ(made_, 2);
}

TEST_F(SharedPartsTest, AnotherKeyHasOthers) {
  const auto mine = get();
  EXPECT_NE(shared_.get(key_ + "'", make_, {}), mine);
}

/// A loader that is held until `progress` of another thread was called.
class HeldLoader {
 public:
  HeldLoader(SharedParts& shared, const std::string& key, bool fails)
      : parts_(std::async(std::launch::async, [this, &shared, key, fails] {
          return shared.get(key,
                            [&](const SharedParts::Progress& progress) {
                              progress(0.5);
                              making_ = true;
                              if (!poll_until([&] { return released_.load(); }))
                                throw std::runtime_error("never released");
                              if (fails) throw std::runtime_error("this one fails");
                              return one_part();
                            },
                            {});
        })) {
    if (!poll_until([&] { return making_.load(); })) throw std::runtime_error("never makes");
  }
  void release() { released_ = true; }
  SharedParts::Parts parts() { return awaited(std::move(parts_)); }

 private:
  std::atomic<bool> making_ = false, released_ = false;
  std::future<SharedParts::Parts> parts_;
};

TEST_F(SharedPartsTest, WhoComesSecondWaitsAndSeesHowFarTheFirstIs) {
  HeldLoader first(shared_, key_, false);
  double seen = -1;
  const auto second = get([&](double fraction) {
    if (seen < 0) seen = fraction;
    first.release();
  });
  EXPECT_EQ(seen, 0.5);
  EXPECT_EQ(second, first.parts());
  EXPECT_EQ(made_, 0);
}

TEST_F(SharedPartsTest, WhoWaitsMakesThemWhereTheFirstFails) {
  HeldLoader first(shared_, key_, true);
  const auto second = get([&](double) { first.release(); });
  EXPECT_EQ(made_, 1);
  EXPECT_THROW(first.parts(), std::runtime_error);
  EXPECT_EQ(get(), second) << "and they are the shared ones";
}

TEST_F(SharedPartsTest, WhoWaitsMayGiveUp) {
  HeldLoader first(shared_, key_, false);
  EXPECT_THROW(get([](double) { throw std::runtime_error("given up"); }), std::runtime_error);
  first.release();
  EXPECT_EQ(first.parts(), get());
  EXPECT_EQ(made_, 0);
}

TEST_F(SharedPartsTest, AnEngineMadeInALoadersCallbackDoesNotWaitForItself) {
  SharedParts::Parts within;
  const auto parts = shared_.get(
      key_,
      [&](const SharedParts::Progress& progress) {
        progress(0);
        return one_part();
      },
      [&](double) {
        if (within.empty()) within = get();
      });
  EXPECT_EQ(made_, 1);
  EXPECT_NE(within, parts);
}

}  // namespace
}  // namespace augur
