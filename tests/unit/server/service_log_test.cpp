#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "support/logged_server.h"
#include "support/stories_engine.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_support::LoggedServer;

using ServiceLogTest = testing_support::StoriesEngineTest;

ServiceOptions stories() {
  return {.model = "stories", .api_keys = {}, .speculation = {}};
}

TEST_F(ServiceLogTest, LoadingAndDrainingAreNoErrors) {
  LoggedServer server;
  EXPECT_EQ(server.get("/v1/models")->status, 503);
  EXPECT_TRUE(server.comes_to_log("error=\"the model is loading\""));
  server.open(*engine_);
  server.service().drain();
  EXPECT_EQ(server.post("/v1/completions", {{"prompt", "Once"}})->status, 503);
  EXPECT_TRUE(server.comes_to_log("error=\"the server is about to end\""));
  EXPECT_THAT(server.log(), Not(HasSubstr("level=error")));
}

TEST_F(ServiceLogTest, ProbesAndScrapesAreNotLogged) {
  LoggedServer server;
  EXPECT_EQ(server.get("/health")->status, 503) << "as it is loading, which probes expect";
  server.open(*engine_);
  for (const char* path : {"/health", "/v1/health", "/metrics", "/load"}) {
    EXPECT_EQ(server.get(path)->status, 200);
  }
  EXPECT_EQ(server.get("/v1/models")->status, 200);
  EXPECT_TRUE(server.comes_to_log("msg=request")) << server.log();
  EXPECT_EQ(server.logged("path=/v1/models"), 1);
}

TEST_F(ServiceLogTest, ProbesAreLoggedWhereTheyAreRefusedOrWanted) {
  ServiceOptions options = stories();
  options.api_keys = {"key"};
  LoggedServer strict(std::move(options));
  EXPECT_EQ(strict.get("/metrics")->status, 401);
  EXPECT_TRUE(strict.comes_to_log("path=/metrics", 2))
      << "somebody scrapes with a wrong key: the refusal, the request";
  options = stories();
  options.log.level = "debug";
  LoggedServer wordy(std::move(options));
  wordy.get("/health");
  EXPECT_TRUE(wordy.comes_to_log("level=debug msg=request")) << wordy.log();
}

TEST_F(ServiceLogTest, SaysWhatWasWrongAndWhoAsked) {
  ServiceOptions options = stories();
  options.trusted_proxies = {"127.0.0.1"};
  LoggedServer server(std::move(options));
  server.open(*engine_);
  const httplib::Result answer = server.post("/v1/completions", {{"prompt", "a secret"}, {"max_tokens", -7}},
                                             {{"X-Forwarded-For", "203.0.113.7"}});
  EXPECT_EQ(answer->status, 400);
  EXPECT_TRUE(server.comes_to_log("status=400 "));
  EXPECT_THAT(server.log(), AllOf(HasSubstr("level=info msg=request"), HasSubstr("client=203.0.113.7"),
                                  HasSubstr("error=\"'max_tokens': expected "), Not(HasSubstr("secret"))));
}

TEST_F(ServiceLogTest, ALongReasonIsCutBetweenCharacters) {
  LoggedServer server;
  server.open(*engine_);
  std::string name;
  for (int i = 0; i < 400; ++i) name += "%C3%A9";  // é
  EXPECT_EQ(server.get("/v1/models/" + name)->status, 404);
  EXPECT_TRUE(server.comes_to_log("status=404 "));
  EXPECT_THAT(server.log(), HasSubstr("\xc3\xa9...\""));
}

/// The reader of the log has stalled, and everything goes on.
TEST_F(ServiceLogTest, ALogThatNobodyReadsHoldsNobodyUp) {
  const testing_support::TemporaryFolder folder;
  const std::string pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  {
    ServiceOptions options = stories();
    options.log.file = pipe;
    LoggedServer server(std::move(options));
    server.open(*engine_);
    const std::string long_path = "/" + std::string(30'000, 'x');
    for (int i = 0; i < 60; ++i) ASSERT_EQ(server.get(long_path)->status, 404);
    EXPECT_EQ(server.post("/v1/completions", {{"prompt", "Once"}, {"max_tokens", 3}})->status, 200);
    const std::string metrics = server.get("/metrics")->body;
    EXPECT_THAT(metrics, AllOf(HasSubstr("augur:log_lines_dropped_total{model_name=\"stories\"} "),
                               Not(HasSubstr("augur:log_lines_dropped_total{model_name=\"stories\"} 0\n"))));
    EXPECT_EQ(server.service().drain(), 0U);
  }
  ::close(reader);
}

}  // namespace
}  // namespace augur
