#include "server/hostile/hostile_test.h"
#include "support/eventually.h"

namespace augur::hostile {
namespace {

using testing_support::RawClient;

std::string endless(bool stream) {
  return completions(std::string(R"("max_tokens": 100000, "ignore_eos": true, "stream": )") +
                     (stream ? "true" : "false"));
}

class CancellationTest : public HostileTest {
 protected:
  void wait_until_somebody_asks() {
    ASSERT_TRUE(testing_support::poll_until([&] { return load().running + load().waiting >= 2; }));
  }
};

TEST_F(CancellationTest, ClientsLeaveWhileTheyWait) {
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(std::make_unique<RawClient>(server_.port()));
    clients.back()->send(endless(i % 2 == 0));
  }
  wait_until_somebody_asks();
  clients.clear();
  wait_until_idle();
  check_health();
}

/// A client that asks and does not read: its turn ends, and nobody else's does.
TEST_F(CancellationTest, AClientThatReadsNothing) {
  RawClient idle(server_.port());
  idle.send(endless(true));
  EXPECT_EQ(status_of(completions(R"("max_tokens": 8)")), 200);
  idle.close();
  wait_until_idle();
}

}  // namespace
}  // namespace augur::hostile
