#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/server_fixture.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class SlotsTest : public testing_support::StoriesEngineTest {
 protected:
  /// A server that begins anew.
  struct Server {
    explicit Server(const std::string& folder)
        : service({.model = "stories", .api_keys = {}, .speculation = {}, .slot_save_path = folder}) {
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
