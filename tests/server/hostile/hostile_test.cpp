#include "server/hostile/hostile_test.h"

#include <httplib.h>

#include <charconv>

namespace augur::hostile {

using testing_support::RawClient;

std::string post(std::string_view path, std::string_view body, std::string_view fields) {
  std::string request = "POST " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
  request += fields;
  const bool framed = fields.find("Content-Length") != std::string_view::npos ||
                      fields.find("Transfer-Encoding") != std::string_view::npos;
  if (!framed) request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return request + "\r\n" + std::string(body);
}

Limits HostileTest::limits() {
  Limits limits;
  limits.client_ms = 1000;
  limits.body_bytes = 1 << 20;
  limits.header_bytes = 16 << 10;
  return limits;
}

int HostileTest::status_of(const std::string& bytes) {
  RawClient client(server_.port());
  client.send(bytes);
  const std::string answer = client.read_all();
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  if (answer.size() < kVersion.size() + 3 || !answer.starts_with("HTTP/1.")) return 0;
  int status = -1;
  std::from_chars(answer.data() + kVersion.size(), answer.data() + kVersion.size() + 3, status);
  return status;
}

void HostileTest::check(const Case& hostile) {
  SCOPED_TRACE(hostile.name);
  EXPECT_THAT(hostile.statuses, testing::Contains(status_of(hostile.bytes)));
  check_health();
}

void HostileTest::check_health() {
  const httplib::Result health = httplib::Client("127.0.0.1", server_.port()).Get("/health");
  ASSERT_TRUE(health) << "the server has gone";
  EXPECT_EQ(health->status, 200);
}

}  // namespace augur::hostile
