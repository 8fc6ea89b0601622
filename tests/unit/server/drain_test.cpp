#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "support/server_fixture.h"

namespace augur {
namespace {

using testing::HasSubstr;

/// What a server tells and does from when it is told to end.
class DrainTest : public testing_support::ServiceTest {
 protected:
  int status(const char* path) { return httplib::Client("127.0.0.1", server_.port()).Get(path)->status; }
  int completion() {
    return post("/v1/completions", R"({"prompt": "Once", "max_tokens": 2, "ignore_eos": true})")->status;
  }
};

TEST_F(DrainTest, WhatLivesNeedNotBeReady) {
  EXPECT_EQ(status("/health/live"), 200) << "it is loading";
  EXPECT_EQ(status("/health/ready"), 503);
  open();
  EXPECT_EQ(status("/health/ready"), 200);
  service_.leave();
  EXPECT_EQ(status("/health/ready"), 503);
  EXPECT_EQ(status("/health"), 503);
  EXPECT_EQ(status("/health/live"), 200);
  EXPECT_EQ(completion(), 200) << "a proxy may not have noticed yet";
  service_.drain();
  EXPECT_EQ(status("/health/ready"), 503);
  EXPECT_EQ(status("/health/live"), 200);
  EXPECT_EQ(completion(), 503);
  EXPECT_EQ(status("/metrics"), 200);
  EXPECT_EQ(status("/load"), 200);
}

TEST_F(DrainTest, ConnectionsEndWithTheirAnswers) {
  open();
  httplib::Client client("127.0.0.1", server_.port());
  client.set_keep_alive(true);
  EXPECT_NE(client.Get("/health")->get_header_value("Connection"), "close");
  server_.keep_no_connections();
  EXPECT_EQ(client.Get("/health")->get_header_value("Connection"), "close");
  EXPECT_EQ(client.Get("/health")->status, 200) << "a new one";
}

/// The last minute of a server is the one in which its longest answers end.
TEST_F(DrainTest, MetricsAreThereUntilAllIsCounted) {
  open();
  std::mutex mutex;
  std::condition_variable began;
  bool writing = false;
  httplib::Request request;
  request.method = "POST";
  request.path = "/v1/completions";
  request.body = R"({"prompt": "Once upon a time", "max_tokens": 300, "stream": true, "ignore_eos": true})";
  request.content_receiver = [&](const char*, std::size_t, std::uint64_t, std::uint64_t) {
    const std::lock_guard lock(mutex);
    writing = true;
    began.notify_all();
    return true;
  };
  auto stream = std::async(std::launch::async, [&] {
    return httplib::Client("127.0.0.1", server_.port()).send(request) != nullptr;
  });
  {
    std::unique_lock lock(mutex);
    began.wait(lock, [&] { return writing; });
  }
  auto drained = std::async(std::launch::async, [&] { return service_.drain(); });
  int written = 300;
  while (completion() == 200) written += 2;  // until it has begun to drain
  EXPECT_EQ(status("/metrics"), 200);
  EXPECT_EQ(drained.get(), 0U);
  EXPECT_TRUE(stream.get());

  std::atomic<bool> was_read = false;
  auto reader = std::async(std::launch::async, [&] { was_read = service_.wait_for_reader(600); });
  std::string text;
  while (!was_read) text = httplib::Client("127.0.0.1", server_.port()).Get("/metrics")->body;
  EXPECT_THAT(text, HasSubstr("vllm:generation_tokens_total{model_name=\"stories\"} " +
                              std::to_string(written) + "\n"));
  EXPECT_FALSE(service_.wait_for_reader(0)) << "nobody has read it since";
}

}  // namespace
}  // namespace augur
