#include "server/hostile/hostile_test.h"

namespace augur::hostile {
namespace {

/// Sent ahead, all are answered, in their order, and a refusal is the last.
TEST_F(HostileTest, SentAhead) {
  std::string many;
  for (int i = 0; i < 200; ++i)
    many += "GET /none/" + std::to_string(i) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  testing_support::RawClient client(server_.port());
  client.send(many + "no HTTP\r\n\r\n" + many);
  const std::string answers = client.read_all();
  std::size_t at = 0;
  for (int i = 0; i < 200; ++i) {
    at = answers.find("there is no /none/" + std::to_string(i) + "\"", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  EXPECT_NE(answers.find("HTTP/1.1 400", at), std::string::npos);
  EXPECT_EQ(answers.find("there is no", answers.find("HTTP/1.1 400", at)), std::string::npos);
  check_health();
}

}  // namespace
}  // namespace augur::hostile
