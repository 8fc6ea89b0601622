#include <gmock/gmock.h>

#include "support/server_fixture.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::ServiceTest;

TEST_F(ServiceTest, StreamsWhoProposedEachTokenAndTheTreeOfEachRound) {
  const Result known = alone(60);
  open();
  for (const char* type : {"none", "ngram", "draft"}) {
    SCOPED_TRACE(type);
    json body = {{"prompt", "Once upon a time"},
                 {"max_tokens", 60},
                 {"temperature", 0},
                 {"stream", true},
                 {"return_speculation", true},
                 {"stream_options", {{"include_usage", true}}}};
    body["speculative"] = {{"type", type}};
    if (std::string_view(type) != "none") body["speculative"]["policy"] = "chain";  // auto may not draft
    const httplib::Result got = post("/v1/completions", body.dump());
    ASSERT_TRUE(got);
    ASSERT_EQ(got->status, 200) << got->body;
    std::vector<TokenId> tokens;
    std::string text;
    std::int64_t rounds = 0;
    std::int64_t accepted = 0;
    std::size_t told = 0;  // tokens of the rounds so far
    json usage;
    for (const std::string& event : events(got->body)) {
      if (event == "[DONE]") continue;
      const json chunk = json::parse(event);
      if (chunk.contains("usage")) usage = chunk["usage"];
      if (chunk["choices"].empty() || !chunk["choices"][0].contains("speculation")) continue;
      const json& choice = chunk["choices"][0];
      text += choice["text"].get<std::string>();
      if (choice["speculation"].contains("token")) {
        const json& token = choice["speculation"]["token"];
        tokens.push_back(token["id"]);
        EXPECT_EQ(token["drafter"].is_null(), token["depth"] == 0);
        EXPECT_TRUE(token["drafter"].is_null() || token["drafter"] == type);
        continue;
      }
      const json& round = choice["speculation"]["round"];
      ++rounds;
      accepted += round["accepted"].get<std::int64_t>();
      EXPECT_EQ(round["verified"], round["nodes"].size());
      // The accepted path and the model's own token are what the text went on with.
      std::vector<TokenId> path;
      for (const json& node : round["nodes"]) {
        if (node["parent"] == -1) {
          EXPECT_TRUE(node["drafter"].is_null());
        } else {
          EXPECT_EQ(node["drafter"], type);
          if (node["accepted"] == true) path.push_back(node["id"]);
        }
      }
      path.push_back(round["next"]["id"]);
      ASSERT_LE(told, tokens.size());
      path.resize(std::min(path.size(), tokens.size() - told));
      EXPECT_EQ(path, std::vector<TokenId>(tokens.begin() + static_cast<std::ptrdiff_t>(told), tokens.end()));
      told = tokens.size();
    }
    EXPECT_EQ(tokens, known.tokens);
    EXPECT_EQ(text, known.text);
    EXPECT_EQ(told, tokens.size());
    EXPECT_EQ(usage["speculation"]["num_drafts"], rounds);
    if (std::string_view(type) == "none") {
      EXPECT_EQ(rounds, std::ssize(tokens));
    } else {
      EXPECT_GT(accepted, 0);
    }
  }
}

TEST_F(ServiceTest, StreamsNothingOfSpeculationUnasked) {
  open();
  const httplib::Result got =
      post("/v1/completions", R"({"prompt": "Once", "max_tokens": 5, "temperature": 0, "stream": true})");
  ASSERT_TRUE(got);
  EXPECT_THAT(got->body, testing::Not(HasSubstr("\"speculation\"")));
  EXPECT_EQ(refusal("/v1/completions", R"({"prompt": "Once", "return_speculation": true})").substr(0, 3),
            "400");
}

TEST_F(ServiceTest, SaysHowLoadedItIs) {
  open();
  answer("/v1/completions", {{"prompt", "Once upon a time"},
                             {"max_tokens", 60},
                             {"temperature", 0},
                             {"speculative", {{"type", "draft"}, {"policy", "chain"}}}});
  httplib::Client client("127.0.0.1", server_.port());
  json load;
  for (int i = 0; i < 1000; ++i) {  // a step is counted when its answers have been given
    const httplib::Result got = client.Get("/load");
    ASSERT_TRUE(got);
    load = json::parse(got->body);
    if (load["running"] == 0) break;
  }
  EXPECT_EQ(load["waiting"], 0);
  EXPECT_GT(load["memory"], 0);
  EXPECT_GT(load["prompt_tokens"], 0);
  EXPECT_GT(load["num_accepted_tokens"], 0);
  EXPECT_GE(load["num_draft_tokens"], load["num_accepted_tokens"]);
}

}  // namespace
}  // namespace augur
