#include <httplib.h>

#include "server/hostile/hostile_test.h"

namespace augur::hostile {
namespace {

using testing_support::RawClient;

class CancellationTest : public HostileTest {
 protected:
  nlohmann::json load() {
    return nlohmann::json::parse(httplib::Client("127.0.0.1", server_.port()).Get("/load")->body);
  }
  /// Until a request is taken in that was not when `before` was asked for.
  void wait_for_one_more(const nlohmann::json& before) {
    while (load()["prompt_tokens"] == before["prompt_tokens"]) std::this_thread::yield();
  }
  void wait_until_idle() {
    while (load()["running"] != 0 || load()["waiting"] != 0) std::this_thread::yield();
  }
  static std::string endless(bool stream, const char* more = "") {
    return post("/v1/completions",
                std::string(R"({"prompt": "Once upon a time", "max_tokens": 100000, "ignore_eos": true)") +
                    more + (stream ? R"(, "stream": true})" : "}"));
  }
};

/// Clients leave at every point of a request; what they asked for ends, and the memory is there again.
TEST_F(CancellationTest, ClientsLeaveAtAnyPoint) {
  const std::string request = endless(false);
  for (const std::size_t part :
       {std::size_t{1}, std::size_t{20}, request.find("\r\n\r\n") + 4, request.size() - 1}) {
    RawClient(server_.port()).send(request.substr(0, part));
    check_health();
  }
  wait_until_idle();
}

TEST_F(CancellationTest, ClientsLeaveWhileTheyAreAnswered) {
  for (const bool stream : {false, true}) {
    for (const char* behind : {"", "G", "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"}) {
      const nlohmann::json before = load();
      RawClient client(server_.port());
      client.send(endless(stream) + behind);
      wait_for_one_more(before);
      client.close();
      wait_until_idle();
      check_health();
    }
  }
}

TEST_F(CancellationTest, ClientsLeaveWhileTheyWait) {
  const nlohmann::json before = load();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(std::make_unique<RawClient>(server_.port()));
    clients.back()->send(endless(i % 2 == 0));
  }
  wait_for_one_more(before);
  clients.clear();
  wait_until_idle();
  check_health();
}

TEST_F(CancellationTest, ManyChoicesEndTogether) {
  RawClient client(server_.port());
  client.send(endless(true, R"(, "n": 4)"));
  client.read_until("data: ");
  client.close();
  wait_until_idle();
  check_health();
}

/// A client that asks, and asks again behind it, and does not read: its turn ends, and nobody else's does.
TEST_F(CancellationTest, AClientThatReadsNothing) {
  RawClient idle(server_.port());
  idle.send(endless(true));
  EXPECT_EQ(status_of(post("/v1/completions", R"({"prompt": "Once", "max_tokens": 8})")), 200);
  idle.close();
  wait_until_idle();
}

TEST_F(CancellationTest, ARequestEndsInItsTime) {
  EXPECT_EQ(status_of(endless(false, R"(, "timeout": 0.01)")), 504);
  check_health();
}

}  // namespace
}  // namespace augur::hostile
