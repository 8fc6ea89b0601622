// Who may be connected, and where: places, the UNIX socket, the listener of those who operate the server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "server/admin_door.h"
#include "support/eventually.h"
#include "support/raw_client.h"
#include "support/server_fixture.h"
#include "support/small_server.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing_support::comes;
using testing_support::RawClient;
using testing_support::SmallServer;
using testing_support::TemporaryFolder;

constexpr const char* kElsewhere = "127.0.0.2";

HttpOptions few(std::int64_t connections, std::int64_t of_address) {
  HttpOptions options{.port = 0};
  options.limits.connections = connections;
  options.limits.address_connections = of_address;
  return options;
}

void echo(const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange) {
  exchange->respond(200, request.path);
}

/// Its answer to one request, by which the server has surely seen the client.
std::string ask(RawClient& client, const std::string& path) {
  client.send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
  return client.read_until("\r\n\r\n" + path);
}

/// Answers all but /held, and that when it is let go.
class HoldingServer {
 public:
  explicit HoldingServer(const HttpOptions& options)
      : server_(options, [this](const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange) {
          if (request.path != "/held") return exchange->respond(200, request.path);
          held_ = exchange;
          asked_.set_value();
        }) {}

  std::uint16_t port() const { return server_.port(); }
  /// Whether the client's request has come, whose answer waits from then on.
  bool holds(RawClient& client) {
    client.send("GET /held HTTP/1.1\r\nHost: x\r\n\r\n");
    return comes(asked_.get_future());
  }
  void let_go() { std::exchange(held_, nullptr)->respond(200, "/held"); }

 private:
  std::shared_ptr<HttpExchange> held_;
  std::promise<void> asked_;
  SmallServer server_;
};

TEST(Door, IdleClientsKeepNobodyOut) {
  SmallServer server(few(4, 2), echo);
  RawClient first(server.port(), kElsewhere);
  ask(first, "/first");
  RawClient second(server.port(), kElsewhere);
  ask(second, "/second");
  RawClient third(server.port(), kElsewhere);
  EXPECT_THAT(ask(third, "/third"), HasSubstr(" 200 "));
  EXPECT_EQ(first.read_all(), "") << "it has been idle for longest";
  EXPECT_THAT(ask(second, "/again"), HasSubstr(" 200 "));
  // Of all addresses together, too.
  RawClient other(server.port());
  ask(other, "/other");
  RawClient one(server.port(), "127.0.0.3");
  ask(one, "/one");
  RawClient last(server.port(), "127.0.0.4");
  EXPECT_THAT(ask(last, "/last"), HasSubstr(" 200 "));
  EXPECT_EQ(third.read_all(), "");
}

TEST(Door, RefusesAnAddressWhoseClientsAreAllAnswered) {
  HoldingServer server(few(3, 1));
  RawClient first(server.port(), kElsewhere);
  ASSERT_TRUE(server.holds(first));
  RawClient second(server.port(), kElsewhere);
  const std::string refusal = second.read_all();
  EXPECT_THAT(refusal, AllOf(StartsWith("HTTP/1.1 429"), HasSubstr("Retry-After"),
                             HasSubstr("--max-connections-per-address")));
  RawClient other(server.port());
  EXPECT_THAT(ask(other, "/other"), HasSubstr(" 200 "));
  server.let_go();
  EXPECT_THAT(first.read_until("\r\n\r\n/held"), HasSubstr(" 200 "));
}

/// However many are refused, descriptors are there for others.
TEST(Door, ClosesWithoutAnAnswerWhoAreRefusedInCrowds) {
  HoldingServer server(few(2, 1));
  RawClient first(server.port(), kElsewhere);
  ASSERT_TRUE(server.holds(first));
  std::vector<std::unique_ptr<RawClient>> crowd;
  for (int i = 0; i < 200; ++i) crowd.push_back(std::make_unique<RawClient>(server.port(), kElsewhere));
  int refused = 0;
  int closed = 0;
  for (const auto& client : crowd) {
    const std::string answer = client->read_all();
    (answer.empty() ? closed : refused) += 1;
    EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 429")) << answer;
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(closed, 0);
  RawClient other(server.port());
  EXPECT_THAT(ask(other, "/other"), HasSubstr(" 200 "));
  server.let_go();
}

TEST(Door, ASocketHasItsPermissionsAndGroup) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "augur.sock").string();
  {
    SmallServer server({.host = path, .socket_mode = 0660, .socket_group = "root"}, echo);
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0660U);
    EXPECT_EQ(status.st_gid, 0U);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  const auto refusal = [&](const HttpOptions& options) -> std::string {
    try {
      const SmallServer server(options, echo);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal({.host = path, .socket_group = "nobody-has-this-name"}),
              HasSubstr("nobody-has-this-name: there is no such group"));
  EXPECT_FALSE(std::filesystem::exists(path)) << "what was bound is gone";
  EXPECT_THAT(refusal({.host = "/" + std::string(200, 'x') + ".sock"}), HasSubstr("fewer than 108 bytes"));
  EXPECT_THAT(refusal({.host = (folder.path() / "no" / "a.sock").string()}),
              HasSubstr("a.sock: No such file"));
}

/// In a rolling restart the next server listens at the path before the last one has ended.
TEST(Door, ALeavingServerLeavesItsSuccessorsSocket) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "augur.sock").string();
  auto before = std::make_unique<SmallServer>(HttpOptions{.host = path}, echo);
  before->http().finish(0);
  std::promise<void> stopped;
  before->http().post([&] { stopped.set_value(); });
  ASSERT_TRUE(comes(stopped.get_future()));
  EXPECT_FALSE(std::filesystem::exists(path));
  SmallServer after({.host = path}, echo);
  before.reset();
  httplib::Client client(path);
  client.set_address_family(AF_UNIX);
  const httplib::Result answer = client.Get("/");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
}

class AdminDoorTest : public testing_support::ServiceTest {};

TEST_F(AdminDoorTest, AnswersWhoOperatesTheServerAndNothingElse) {
  Service service({.model = "stories", .api_keys = {"one", "two"}, .speculation = {}});
  AdminDoor door(service);
  const HttpServer admin({.port = 0}, door);
  httplib::Client client("127.0.0.1", admin.port());
  EXPECT_EQ(client.Get("/health")->status, 503) << "it loads";
  service.open(*engine_, {.parallel = 4});
  const HttpServer server({.port = 0}, service);
  httplib::Client user("127.0.0.1", server.port());
  EXPECT_EQ(user.Get("/metrics")->status, 401);
  const httplib::Headers key = {{"Authorization", "Bearer one"}};
  const std::string body = R"({"prompt": "Once upon a time", "max_tokens": 4, "ignore_eos": true})";
  EXPECT_EQ(user.Post("/v1/completions", key, body, "application/json")->status, 200);
  EXPECT_EQ(client.Get("/health")->status, 200);
  EXPECT_THAT(client.Get("/metrics")->body, HasSubstr("vllm:generation_tokens_total"));
  EXPECT_GT(json::parse(client.Get("/load")->body)["prompt_tokens"], 0) << "of all keys";
  EXPECT_EQ(json::parse(client.Get("/slots")->body).size(), 4U);
  EXPECT_EQ(client.Post("/v1/completions", key, body, "application/json")->status, 404);
  for (const char* path : {"/", "/v1/models", "/openapi.json", "/slots/0"}) {
    EXPECT_EQ(client.Get(path)->status, 404) << path;
  }
  EXPECT_EQ(client.Post("/metrics", "", "text/plain")->status, 405);
  EXPECT_EQ(client.Get("/metrics", {{"Host", "evil.example"}})->status, 403) << "a page could lead here";
  EXPECT_EQ(client.Get("/metrics", {{"Origin", "https://evil.example"}})->status, 403);
  service.drain();
}

}  // namespace
}  // namespace augur
