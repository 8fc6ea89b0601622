#include "server/workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "support/eventually.h"

namespace augur {
namespace {

using testing::ElementsAre;
using testing_support::comes;

bool wanted() {
  return false;
}

/// Holds the only worker until it is let go.
class Held {
 public:
  explicit Held(Workers& workers) {
    workers.submit({.client = "held", .abandoned = wanted, .run = [this] {
                      begun_.set_value();
                      release_.get_future().wait();
                    }});
    EXPECT_TRUE(comes(begun_.get_future()));
  }
  void let_go() { release_.set_value(); }

 private:
  std::promise<void> begun_;
  std::promise<void> release_;
};

TEST(Workers, ClientsTakeTurnsHoweverManyJobsEachHas) {
  Workers workers(1);
  std::vector<std::string> order;  // of one worker: no lock
  Held held(workers);
  for (const char* client : {"a", "a", "a", "a", "b", "c"}) {
    workers.submit(
        {.client = client, .abandoned = wanted, .run = [&order, client] { order.emplace_back(client); }});
  }
  held.let_go();
  workers.drain();
  EXPECT_THAT(order, ElementsAre("a", "b", "c", "a", "a", "a"));
}

TEST(Workers, DropsWhatNobodyWants) {
  Workers workers(1);
  Held held(workers);
  bool gone = false;
  int run = 0;
  for (int i = 0; i < 2; ++i) {
    workers.submit({.client = "a", .abandoned = [&, i] { return gone && i == 0; }, .run = [&] { ++run; }});
  }
  gone = true;
  held.let_go();
  workers.drain();
  EXPECT_EQ(run, 1);
}

}  // namespace
}  // namespace augur
