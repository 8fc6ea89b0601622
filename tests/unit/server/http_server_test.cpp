#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "base/io_thread.h"
#include "support/eventually.h"
#include "support/raw_client.h"
#include "support/sanitized.h"
#include "support/small_server.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using testing_support::awaited;
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

TEST(HttpServer, WhatSeveralThreadsSayComesInItsOrder) {
  SmallServer server(any_port(), [](const HttpRequest&, const std::shared_ptr<HttpExchange>& exchange) {
    exchange->send_event("the I/O thread's");
    std::thread([&] {
      exchange->send_event("another's");
      exchange->end_stream();
    }).join();
  });
  httplib::Client client("127.0.0.1", server.port());
  const auto answer = client.Get("/");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "data: the I/O thread's\n\ndata: another's\n\n");
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
  options.limits.unread_bytes = 1 << 20;
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
  options.limits.body_bytes = 100;
  options.limits.header_bytes = 1000;
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

TEST(HttpServer, TellsARequestThatIsTooSlowAndClosesAConnectionThatIsIdle) {
  HttpOptions options = any_port();
  options.limits.client_ms = 50;
  SmallServer server(options, echo);
  for (const char* begun :
       {"GET / HTTP/1.1\r\nHos", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf"}) {
    RawClient client(server.port());
    client.send(begun);
    EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 408"));
  }
  EXPECT_EQ(RawClient(server.port()).read_all(), "");
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
  std::shared_ptr<HttpExchange> exchange = awaited(asked.get_future());
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

/// What is asked ahead waits its turn, and does not hide that its client has gone.
TEST(HttpServer, SeesAClientGoThatHasAskedAhead) {
  std::promise<void> asked;
  std::promise<void> gone;
  SmallServer server(any_port(), [&](const HttpRequest&, const std::shared_ptr<HttpExchange>& exchange) {
    exchange->when_closed([&gone, held = exchange]() mutable {
      EXPECT_TRUE(held->client_gone());
      held.reset();
      gone.set_value();
    });
    asked.set_value();
  });
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\nG");
  ASSERT_TRUE(comes(asked.get_future()));
  client.close();
  EXPECT_TRUE(comes(gone.get_future()));
}

/// Whoever answers a request twice must not answer the next one by it.
TEST(HttpServer, WhatComesForAnAnsweredRequestIsDropped) {
  std::shared_ptr<HttpExchange> first;
  SmallServer server(any_port(),
                     [&](const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange) {
                       if (request.path == "/1") {
                         first = exchange;
                         exchange->respond(200, "one");
                         exchange->send_event("stray");
                         exchange->respond(200, "again");
                       } else {
                         first->respond(200, "late");
                         first->send_event("late");
                         first->end_stream();
                         first.reset();
                         exchange->send_event("two");
                         exchange->respond(200, "not both");
                         exchange->end_stream();
                         exchange->send_event("after the end");
                       }
                     });
  RawClient client(server.port());
  client.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string answers = client.read_all();
  EXPECT_THAT(answers, HasSubstr("\r\n\r\none"));
  EXPECT_THAT(answers, HasSubstr("data: two\n\n"));
  for (const char* wrong : {"stray", "again", "late", "not both", "after"}) {
    EXPECT_THAT(answers, testing::Not(HasSubstr(wrong)));
  }
}

TEST(HttpServer, StreamsToHttp10WithoutChunks) {
  SmallServer server(any_port(), [](const HttpRequest&, const std::shared_ptr<HttpExchange>& exchange) {
    exchange->send_event("one");
    exchange->end_stream();
  });
  RawClient client(server.port());
  client.send("GET / HTTP/1.0\r\n\r\n");
  const std::string answer = client.read_all();
  EXPECT_THAT(answer, testing::Not(HasSubstr("chunked")));
  EXPECT_THAT(answer, testing::EndsWith("\r\n\r\ndata: one\n\n"));
}

TEST(HttpServer, AnswersHeadWithoutABody) {
  SmallServer server(any_port(), echo);
  RawClient client(server.port());
  client.send("HEAD /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string answer = client.read_all();
  EXPECT_THAT(answer, HasSubstr("Content-Length: 8\r\n"));
  EXPECT_THAT(answer, testing::EndsWith("\r\n\r\n"));
}

TEST(HttpServer, LetsTheBodyComeWhenItIsWaitedFor) {
  SmallServer server(any_port(), echo);
  RawClient client(server.port());
  client.send(
      "POST /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: "
      "4\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("body");
  EXPECT_THAT(client.read_all(), testing::EndsWith("POST /a body"));
}

/// Bodies together are bounded as each of them is.
TEST(HttpServer, RefusesBodiesThatTakeTooMuchTogether) {
  HttpOptions options = any_port();
  options.limits.http_bytes = 1500;
  std::promise<std::shared_ptr<HttpExchange>> asked;
  SmallServer server(options, [&](const HttpRequest&, const std::shared_ptr<HttpExchange>& exchange) {
    asked.set_value(exchange);
  });
  const std::string request =
      "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1000\r\n\r\n" +
      std::string(1000, 'x');
  RawClient first(server.port());
  first.send(request);
  const std::shared_ptr<HttpExchange> exchange = awaited(asked.get_future());
  RawClient second(server.port());
  second.send(request);
  EXPECT_THAT(second.read_all(), StartsWith("HTTP/1.1 503"));
  exchange->respond(200, "{}");
  EXPECT_THAT(first.read_all(), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServer, RefusesMoreClientsThanMayBe) {
  HttpOptions options = any_port();
  options.limits.connections = 1;
  std::promise<std::shared_ptr<HttpExchange>> asked;
  SmallServer server(options, [&](const HttpRequest&, const std::shared_ptr<HttpExchange>& exchange) {
    asked.set_value(exchange);
  });
  RawClient first(server.port());
  first.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::shared_ptr<HttpExchange> exchange = awaited(asked.get_future());
  RawClient second(server.port());
  second.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(second.read_all(), StartsWith("HTTP/1.1 503"));
  exchange->respond(200, "one");
  EXPECT_THAT(first.read_until("one"), HasSubstr(" 200 "));
}

/// Without a free descriptor clients wait, the operator is told once, and it goes on when there is one.
TEST(HttpServer, WaitsForADescriptor) {
  if (testing_support::kSanitized)
    GTEST_SKIP() << "the sanitizer takes descriptors itself, for what it looks at";
  SmallServer server(any_port(), echo);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(0);  // the lowest that is free
  ::close(next);
  const rlimit one_more{.rlim_cur = static_cast<rlim_t>(next) + 1, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &one_more), 0);
  RawClient client(server.port());  // has the last one
  client.send("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(testing_support::poll_until([&] { return !server.troubles().empty(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(server.troubles().size(), 1U);
  EXPECT_THAT(server.troubles().front(), HasSubstr("no client is accepted"));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(server.troubles().size(), 2U);
}

TEST(HttpServer, KeepsItsThreadFree) {
  bool handled = false;
  SmallServer server(any_port(), [&](const HttpRequest&, const std::shared_ptr<HttpExchange>& exchange) {
    EXPECT_THROW(IoThread::must_not_be_current(), std::logic_error);
    handled = true;
    exchange->respond(200, "{}");
  });
  EXPECT_NO_THROW(IoThread::must_not_be_current());
  ASSERT_TRUE(httplib::Client("127.0.0.1", server.port()).Get("/"));
  EXPECT_TRUE(handled);
}

TEST(HttpServer, RemovesADeadSocketAndNothingElse) {
  const testing_support::TemporaryFolder folder;
  const std::string file = (folder.path() / "file.sock").string();
  std::ofstream(file) << "precious";
  HttpOptions options;
  options.host = file;
  EXPECT_THROW(SmallServer(options, echo), std::runtime_error);
  EXPECT_EQ(std::filesystem::file_size(file), 8U);
  const std::string dead = (folder.path() / "dead.sock").string();
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  dead.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ::close(socket);
  options.host = dead;
  EXPECT_NO_THROW(SmallServer(options, echo));
  EXPECT_FALSE(std::filesystem::exists(dead));
}

}  // namespace
}  // namespace augur
