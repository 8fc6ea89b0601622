#include "server/http/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "support/eventually.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using testing_support::awaited;
using testing_support::comes;

/// A connection of which every byte is ours.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval for_ever{.tv_sec = std::chrono::seconds(testing_support::kForEver).count(), .tv_usec = 0};
    EXPECT_EQ(::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &for_ever, sizeof(for_ever)), 0);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  ~RawClient() { close(); }
  void send(const std::string& text) {
    EXPECT_EQ(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL), std::ssize(text));
  }
  /// Until the server closes.
  std::string read_all() {
    std::string all;
    char buffer[4096];
    for (;;) {
      const ssize_t got = ::recv(socket_, buffer, sizeof(buffer), 0);
      EXPECT_FALSE(got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) << "the server does not close";
      if (got <= 0) return all;
      all.append(buffer, static_cast<std::size_t>(got));
    }
  }
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

 private:
  int socket_;
};

HttpOptions any_port() {
  HttpOptions options;
  options.port = 0;
  return options;
}

void echo(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  exchange->answer(200, request.method + " " + request.path + " " + request.body);
}

TEST(HttpServer, AnswersOneAfterAnotherOnAConnection) {
  HttpServer server(any_port(), echo);
  httplib::Client client("127.0.0.1", server.port());
  client.set_keep_alive(true);
  for (int i = 0; i < 3; ++i) {
    const auto answer = client.Post("/a?query", std::to_string(i), "application/json");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "POST /a " + std::to_string(i));
    EXPECT_THAT(answer->get_header_value("Content-Type"), StartsWith("application/json"));
  }
  // Both requests at once: the second waits for the first.
  RawClient raw(server.port());
  raw.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string answers = raw.read_all();
  EXPECT_LT(answers.find("GET /1"), answers.find("GET /2"));
  EXPECT_NE(answers.find("GET /2"), std::string::npos);
}

TEST(HttpServer, StreamsEvents) {
  std::thread writer;
  HttpServer server(any_port(), [&](const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
    if (writer.joinable()) writer.join();
    writer = std::thread([exchange] {
      for (int i = 0; i < 100; ++i) exchange->event(std::to_string(i));
      exchange->end();
      exchange->event("too late");
    });
  });
  std::string expected;
  for (int i = 0; i < 100; ++i) expected += "data: " + std::to_string(i) + "\n\n";
  httplib::Client client("127.0.0.1", server.port());
  client.set_keep_alive(true);
  for (int i = 0; i < 3; ++i) {
    const auto answer = client.Get("/");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, expected);
    EXPECT_THAT(answer->get_header_value("Content-Type"), StartsWith("text/event-stream"));
  }
  writer.join();
}

TEST(HttpServer, TellsWhenAClientGoesAway) {
  for (const bool streaming : {false, true}) {
    SCOPED_TRACE(streaming);
    std::promise<void> asked;
    std::promise<void> gone;
    HttpServer server(any_port(), [&](const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
      if (streaming) exchange->event("first");
      exchange->when_closed([&gone, held = exchange]() mutable {
        held->event("nobody reads this");
        held->end();
        held.reset();
        gone.set_value();
      });
      asked.set_value();
    });
    RawClient client(server.port());
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    ASSERT_TRUE(comes(asked.get_future()));
    client.close();
    ASSERT_TRUE(comes(gone.get_future()));
  }
}

TEST(HttpServer, EndsWhenItsLastExchangeIsLetGo) {
  std::promise<std::shared_ptr<Exchange>> asked;
  std::atomic<bool> held = true;
  std::thread holder;
  {
    HttpServer server(any_port(), [&](const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
      exchange->answer(200, "{}");
      asked.set_value(exchange);
    });
    RawClient client(server.port());
    client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    holder = std::thread([&held, exchange = awaited(asked.get_future())]() mutable {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      held = false;
      exchange.reset();
    });
  }
  EXPECT_FALSE(held);
  holder.join();
}

TEST(HttpServer, DropsAClientThatDoesNotReadItsStream) {
  HttpOptions options = any_port();
  options.most_unread = 1 << 20;
  std::promise<void> gone;
  HttpServer server(options, [&](const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
    for (int i = 0; i < 1000; ++i) exchange->event(std::string(1 << 16, 'x'));
    exchange->when_closed([&] { gone.set_value(); });
  });
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(comes(gone.get_future()));
}

TEST(HttpServer, RefusesWhatIsTooLargeOrNoHttp) {
  HttpOptions options = any_port();
  options.most_body = 100;
  options.most_header = 1000;
  HttpServer server(options, echo);
  const auto answer = [&](const std::string& request) {
    RawClient client(server.port());
    client.send(request);
    return client.read_all();
  };
  EXPECT_THAT(answer("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(answer("GET / HTTP/1.1\r\nHost: " + std::string(2000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(answer("no HTTP at all\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer("no HTTP at all\r\n\r\n"), HasSubstr("\"type\":\"invalid_request_error\""));
}

TEST(HttpServer, ClosesWhatIsTooSlow) {
  HttpOptions options = any_port();
  options.seconds = 0.05;
  HttpServer server(options, echo);
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHos");
  EXPECT_EQ(client.read_all(), "");
}

TEST(HttpServer, TurnsExceptionsAndDroppedRequestsInto500) {
  HttpServer server(any_port(), [](const HttpRequest& request, const std::shared_ptr<Exchange>&) {
    if (request.path == "/throw") throw std::runtime_error("no luck");
  });
  httplib::Client client("127.0.0.1", server.port());
  const auto thrown = client.Get("/throw");
  ASSERT_TRUE(thrown);
  EXPECT_EQ(thrown->status, 500);
  EXPECT_THAT(thrown->body, HasSubstr("no luck"));
  const auto dropped = client.Get("/");
  ASSERT_TRUE(dropped);
  EXPECT_EQ(dropped->status, 500);
}

TEST(HttpServer, FinishesWhatHasBegun) {
  std::promise<std::shared_ptr<Exchange>> asked;
  HttpServer server(any_port(), [&](const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
    asked.set_value(exchange);
  });
  auto answer = std::async(std::launch::async, [&] {
    httplib::Client client("127.0.0.1", server.port());
    const auto result = client.Get("/");
    return result ? result->body : "nothing";
  });
  std::shared_ptr<Exchange> exchange = awaited(asked.get_future());
  std::thread later([&] { std::exchange(exchange, nullptr)->answer(200, "done"); });
  server.finish(60);
  later.join();
  EXPECT_EQ(answer.get(), "done");
  httplib::Client late("127.0.0.1", server.port());
  EXPECT_FALSE(late.Get("/"));
}

TEST(HttpServer, SaysWhereItCannotListen) {
  HttpServer server(any_port(), echo);
  HttpOptions taken;
  taken.port = server.port();
  EXPECT_THROW(HttpServer(taken, echo), std::runtime_error);
  taken.host = "no.address";
  EXPECT_THROW(HttpServer(taken, echo), std::runtime_error);
}

}  // namespace
}  // namespace augur
