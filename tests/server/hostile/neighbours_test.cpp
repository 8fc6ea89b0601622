#include <httplib.h>

#include <atomic>
#include <thread>

#include "server/hostile/hostile_test.h"

namespace augur::hostile {
namespace {

/// What takes long of one request keeps no thread that others need.
TEST_F(HostileTest, OthersAreAnsweredBesideALongText) {
  const std::string text(1'000'000, 'a');
  std::atomic<int> tokenised = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back([&] {
      EXPECT_EQ(status_of(post("/tokenize", R"({"content": ")" + text + "\"}")), 200);
      ++tokenised;
    });
  }
  int beside = 0;
  do {
    check_health();
    if (tokenised == 0) ++beside;
  } while (tokenised < 2);
  for (std::thread& client : clients) client.join();
  EXPECT_GE(beside, 3);
}

}  // namespace
}  // namespace augur::hostile
