#include "server/answers/logprobs_json.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "support/stories_engine.h"

namespace augur {
namespace {

using nlohmann::ordered_json;
using LogprobsJson = testing_support::StoriesEngineTest;

TEST_F(LogprobsJson, ChatsNameEveryByte) {
  const std::vector<TokenId> tokens = engine_->tokenize("Once");
  const TokenId token = tokens.back();
  const TokenLogprobs at{.logprob = -0.5F, .top = {{.token = token, .logprob = -0.5F}}};
  const ordered_json result = chat_logprobs(*engine_, {&token, 1}, {&at, 1});
  const std::string text = engine_->token_bytes(token);
  const ordered_json& entry = result["content"][0];
  EXPECT_EQ(entry["token"], text);
  EXPECT_EQ(entry["logprob"], -0.5);
  EXPECT_EQ(entry["bytes"].size(), text.size());
  EXPECT_EQ(entry["bytes"][0], static_cast<int>(static_cast<unsigned char>(text[0])));
  EXPECT_EQ(entry["top_logprobs"][0]["bytes"], entry["bytes"]);
}

TEST_F(LogprobsJson, PartsOfCharactersAreWrittenAsBytesAndCountOnce) {
  std::vector<TokenId> tokens = engine_->tokenize("\xe4\xb8\x96");  // in bytes, no token of its own
  ASSERT_GE(tokens.size(), 3U);
  tokens.erase(tokens.begin(), tokens.end() - 3);
  const std::vector<TokenLogprobs> logprobs(3,
                                            {.logprob = -std::numeric_limits<float>::infinity(), .top = {}});
  std::int64_t offset = 4;
  const ordered_json result = completion_logprobs(*engine_, tokens, logprobs, offset);
  EXPECT_EQ(result["tokens"], (std::vector<std::string>{"bytes:\\xe4", "bytes:\\xb8", "bytes:\\x96"}));
  EXPECT_EQ(result["text_offset"], (std::vector<int>{4, 5, 5}));
  EXPECT_EQ(offset, 5);
  EXPECT_EQ(result["token_logprobs"][0], -9999.0);
  EXPECT_EQ(result["top_logprobs"][1].size(), 1U) << "the token itself";
}

}  // namespace
}  // namespace augur
