#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "support/server_fixture.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class SlotsTest : public testing_support::StoriesEngineTest {
 protected:
  /// A server that begins anew.
  struct Server {
    explicit Server(const std::string& folder, const Limits& limits = {})
        : service({.model = "stories",
                   .api_keys = {},
                   .speculation = {},
                   .slot_save_path = folder,
                   .limits = limits}) {
      service.open(*engine_, {.parallel = 2});
    }
    ~Server() { service.drain(); }
    std::pair<int, json> post(const std::string& path, const json& body) {
      httplib::Client client("127.0.0.1", http.port());
      const httplib::Result result = client.Post(path, body.dump(), "application/json");
      return {result->status, json::parse(result->body)};
    }
    /// "STATUS FIELD".
    std::string refusal(const std::string& path, const json& body) {
      const auto [status, answer] = post(path, body);
      const json param = answer["error"]["param"];
      return std::to_string(status) + (param.is_string() ? " " + param.get<std::string>() : "");
    }
    Service service;
    HttpServer http{{.port = 0}, service};
  };
  const json body_ = {
      {"prompt", "Lily and Tom went to the park. Tom saw a big"}, {"n_predict", 40}, {"temperature", 0}};
  const testing_support::TemporaryFolder folder_;
};

TEST_F(SlotsTest, ATextIsSavedAndRestored) {
  json first;
  {
    Server server(folder_.path().string());
    first = server.post("/completion", body_).second;
    const auto [status, saved] = server.post("/slots/0?action=save", {{"filename", "one.bin"}});
    ASSERT_EQ(status, 200) << saved;
    EXPECT_EQ(saved["id_slot"], 0);
    EXPECT_EQ(saved["filename"], "one.bin");
    EXPECT_GT(saved["n_saved"], 40);
    EXPECT_EQ(saved["n_written"], std::filesystem::file_size(folder_.path() / "one.bin"));
    EXPECT_GE(saved["timings"]["save_ms"], 0);
  }
  Server server(folder_.path().string());
  const auto [status, restored] = server.post("/slots/1?action=restore", {{"filename", "one.bin"}});
  ASSERT_EQ(status, 200) << restored;
  EXPECT_GT(restored["n_restored"], 40);
  const json again = server.post("/completion", body_).second;
  EXPECT_EQ(again["content"], first["content"]);
  EXPECT_GT(again["timings"]["cache_n"], 5);
  const json erased = server.post("/slots/0?action=erase", json::object()).second;
  EXPECT_GT(erased["n_erased"], 40);
  EXPECT_EQ(server.post("/completion", body_).second["timings"]["cache_n"], 0);
}

TEST_F(SlotsTest, WithoutAFolderNothingIsSaved) {
  Server server("");
  EXPECT_EQ(server.refusal("/slots/0?action=save", {{"filename", "a"}}), "501");
  EXPECT_EQ(server.refusal("/slots/0?action=restore", {{"filename", "a"}}), "501");
  EXPECT_EQ(server.post("/slots/0?action=erase", json::object()).first, 200);
}

/// A text is too large for what is left, and is not kept; then nothing more is written at all.
TEST_F(SlotsTest, TheQuotaIsKept) {
  constexpr std::int64_t kQuota = 4096;
  Server server(folder_.path().string(), {.saved_bytes = kQuota});
  server.post("/completion", body_);
  const json fine = {{"filename", "one.bin"}};
  const auto [status, answer] = server.post("/slots/0?action=save", fine);
  EXPECT_EQ(status, 507) << answer;
  EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr("--slot-save-quota"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  std::ofstream(folder_.path() / "other") << std::string(kQuota, 'x');
  EXPECT_EQ(server.refusal("/slots/0?action=save", fine), "507");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "one.bin"));
}

/// No file may grow beyond a page: what a full disk says, too.
TEST_F(SlotsTest, AFullDiskIsNotTheClientsFault) {
  Server server(folder_.path().string());
  server.post("/completion", body_);
  const json fine = {{"filename", "one.bin"}};
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit page{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &page), 0);
  const auto [status, answer] = server.post("/slots/0?action=save", fine);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status, 507) << answer;
  const std::string message = answer["error"]["message"];
  EXPECT_THAT(message, HasSubstr("one.bin"));
  EXPECT_THAT(message, Not(HasSubstr(folder_.path().string())));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "nothing is left of it";
  EXPECT_EQ(server.post("/slots/0?action=save", fine).first, 200);
}

TEST_F(SlotsTest, WhatCannotBeIsNamed) {
  Server server(folder_.path().string());
  const json fine = {{"filename", "a"}};
  EXPECT_EQ(server.refusal("/slots/0?action=save", fine), "400 id_slot") << "nothing has run there";
  server.post("/completion", body_);
  for (const char* name : {"", "../a", "a/b", "..", ".hidden", "a\\b", "a\nb", "C:a"}) {
    EXPECT_EQ(server.refusal("/slots/0?action=save", {{"filename", name}}), "400 filename") << name;
    EXPECT_EQ(server.refusal("/slots/0?action=restore", {{"filename", name}}), "400 filename") << name;
  }
  EXPECT_EQ(server.refusal("/slots/0?action=save", {{"filename", 3}}), "400 filename");
  EXPECT_EQ(server.refusal("/slots/0?action=save", json::object()), "400 filename");
  EXPECT_EQ(server.refusal("/slots/0?action=save", {{"filename", "a"}, {"filenam", 1}}), "400 filenam");
  EXPECT_EQ(server.refusal("/slots/0?action=copy", fine), "400 action");
  EXPECT_EQ(server.refusal("/slots/0", fine), "400 action");
  for (const char* slot : {"2", "-1", "x", "1x"}) {
    EXPECT_EQ(server.refusal("/slots/" + std::string(slot) + "?action=erase", fine), "400 id_slot") << slot;
  }
  EXPECT_EQ(server.refusal("/slots/0/a?action=erase", fine), "404");
  EXPECT_EQ(server.refusal("/slots/?action=erase", fine), "404");
  const auto [status, missing] = server.post("/slots/0?action=restore", {{"filename", "nowhere"}});
  EXPECT_EQ(status, 400);
  EXPECT_THAT(missing["error"]["message"].get<std::string>(), HasSubstr("nowhere"));
  EXPECT_THAT(missing["error"]["message"].get<std::string>(), Not(HasSubstr(folder_.path().string())));
}

}  // namespace
}  // namespace augur
