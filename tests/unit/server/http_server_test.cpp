#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <future>
#include <thread>

#include "support/eventually.h"
#include "support/raw_client.h"
#include "support/small_server.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using testing_support::comes;
using testing_support::RawClient;
using testing_support::SmallServer;

HttpOptions any_port() {
  HttpOptions options;
  options.port = 0;
  return options;
}

void echo(const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange) {
  exchange->respond(200, request.method + " " + request.path + " " + request.body);
}

TEST(HttpServer, AnswersOneAfterAnotherOnAConnection) {
  SmallServer server(any_port(), echo);
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
  SmallServer server(any_port(), [&](const HttpRequest&, const std::shared_ptr<HttpExchange>& exchange) {
    if (writer.joinable()) writer.join();
    writer = std::thread([exchange] {
      for (int i = 0; i < 100; ++i) exchange->send_event(std::to_string(i));
      exchange->end_stream();
      exchange->send_event("too late");
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
    SmallServer server(any_port(), [&](const HttpRequest&, const std::shared_ptr<HttpExchange>& exchange) {
      if (streaming) exchange->send_event("first");
      exchange->when_closed([&gone, held = exchange]() mutable {
        held->send_event("nobody reads this");
        held->end_stream();
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
  std::promise<std::shared_ptr<HttpExchange>> asked;
  std::atomic<bool> held = true;
  std::thread holder;
  {
    SmallServer server(any_port(), [&](const HttpRequest&, const std::shared_ptr<HttpExchange>& exchange) {
      exchange->respond(200, "{}");
      asked.set_value(exchange);
    });
    RawClient client(server.port());
    client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    holder = std::thread([&held, exchange = asked.get_future().get()]() mutable {
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
  SmallServer server(options, [&](const HttpRequest&, const std::shared_ptr<HttpExchange>& exchange) {
    for (int i = 0; i < 1000; ++i) exchange->send_event(std::string(1 << 16, 'x'));
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
  SmallServer server(options, echo);
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
  EXPECT_THAT(answer("no HTTP at all\r\n\r\n"), HasSubstr("this is not HTTP"));
}

TEST(HttpServer, ClosesWhatIsTooSlow) {
  HttpOptions options = any_port();
  options.seconds = 0.05;
  SmallServer server(options, echo);
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHos");
  EXPECT_EQ(client.read_all(), "");
}

TEST(HttpServer, EndsTheConnectionOfADroppedRequest) {
  SmallServer server(any_port(), [](const HttpRequest&, const std::shared_ptr<HttpExchange>&) {});
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.read_all(), "");
}

TEST(HttpServer, FinishesWhatHasBegun) {
  std::promise<std::shared_ptr<HttpExchange>> asked;
  SmallServer server(any_port(), [&](const HttpRequest&, const std::shared_ptr<HttpExchange>& exchange) {
    asked.set_value(exchange);
  });
  auto answer = std::async(std::launch::async, [&] {
    httplib::Client client("127.0.0.1", server.port());
    const auto result = client.Get("/");
    return result ? result->body : "nothing";
  });
  std::shared_ptr<HttpExchange> exchange = asked.get_future().get();
  std::thread later([&] { std::exchange(exchange, nullptr)->respond(200, "done"); });
  server.http().finish(60);
  later.join();
  EXPECT_EQ(answer.get(), "done");
  httplib::Client late("127.0.0.1", server.port());
  EXPECT_FALSE(late.Get("/"));
}

TEST(HttpServer, SaysWhereItCannotListen) {
  SmallServer server(any_port(), echo);
  HttpOptions taken;
  taken.port = server.port();
  EXPECT_THROW(SmallServer(taken, echo), std::runtime_error);
  taken.host = "no.address";
  EXPECT_THROW(SmallServer(taken, echo), std::runtime_error);
}

}  // namespace
}  // namespace augur
