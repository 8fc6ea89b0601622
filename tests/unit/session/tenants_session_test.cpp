#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "augur/session.h"
#include "support/eventually.h"
#include "support/stories_engine.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

class TenantsTest : public testing_support::StoriesEngineTest {
 protected:
  ~TenantsTest() override { engine_->forget(); }

  static Request request(std::string prompt, std::int64_t tokens = 20, const char* plan = "none") {
    Request request;
    request.prompt = std::move(prompt);
    request.max_tokens = tokens;
    request.ignore_eos = true;
    request.speculation = SpeculationPlan::parse(plan);
    return request;
  }
  static Result write(Session& session, Request request, const std::string& tenant,
                      const std::string& salt = {}) {
    request.cache_salt = salt;
    return session.submit(std::move(request), {.tenant = tenant}).wait();
  }
  /// What the request was proposed, in order.
  static std::vector<TokenId> proposed(Session& session, Request request, const std::string& tenant,
                                       const std::string& salt = {}) {
    std::vector<TokenId> tokens;
    request.on_round = [&](const DraftRound& round) {
      for (std::size_t i = 1; i < round.nodes.size(); ++i) tokens.push_back(round.nodes[i].token);
    };
    EXPECT_EQ(write(session, std::move(request), tenant, salt).error, "");
    return tokens;
  }
  static TextFile wait_for(const std::function<void(Session::TextFileCallback)>& call) {
    std::promise<TextFile> told;
    call([&](const TextFile& file) { told.set_value(file); });
    return testing_support::awaited(told.get_future());
  }

  const std::string prompt_ = "Lily and Tom went to the park. Tom saw a big";
};

TEST_F(TenantsTest, TakeOverTheirOwnTextsOnly) {
  Session session(*engine_);
  const Result first = write(session, request(prompt_), "a");
  for (const auto& [tenant, salt] : std::vector<std::pair<std::string, std::string>>{
           {"b", ""}, {"", ""}, {"a", "x"}, {"", "a"}, {"", "x"}, {"b", "x"}, {"a", "y"}}) {
    const Result other = write(session, request(prompt_), tenant, salt);
    EXPECT_EQ(other.cached_tokens, 0) << tenant << ":" << salt;
    EXPECT_EQ(other.tokens, first.tokens);
    EXPECT_GT(write(session, request(prompt_), tenant, salt).cached_tokens, 10) << tenant << ":" << salt;
  }
}

TEST_F(TenantsTest, WhatIsNotToBeKeptIsNotThereAfterwards) {
  Session session(*engine_);
  Request secret = request(prompt_, 30, "suffix:policy=chain");
  secret.cache_prompt = false;
  write(session, secret, "a");
  EXPECT_EQ(session.load().cache_bytes_in_use, 0);
  const std::vector<TokenId> fresh = proposed(session, request(prompt_, 30, "suffix:policy=chain"), "b");
  EXPECT_EQ(write(session, request(prompt_, 1), "a").cached_tokens, 0);
  EXPECT_EQ(proposed(session, request(prompt_, 30, "suffix:policy=chain"), "a"), fresh);
}

TEST_F(TenantsTest, LookUpsProposeOutputsOfTheSameTenantOnly) {
  Session session(*engine_);
  const std::vector<TokenId> fresh = proposed(session, request(prompt_, 30, "suffix:policy=chain"), "a");
  EXPECT_EQ(proposed(session, request(prompt_, 30, "suffix:policy=chain"), "b"), fresh);
  EXPECT_EQ(proposed(session, request(prompt_, 30, "suffix:policy=chain"), "a", "salt"), fresh);
  EXPECT_NE(proposed(session, request(prompt_, 30, "suffix:policy=chain"), "a"), fresh);
}

TEST_F(TenantsTest, FilesAreKeptForWhoLoadsThem) {
  const testing_support::TemporaryFolder folder;
  const std::string path = (folder.path() / "text").string();
  Session session(*engine_);
  Result result = write(session, request(prompt_), "a");
  std::vector<TokenId> text = engine_->prompt_tokens(request(prompt_));
  text.insert(text.end(), result.tokens.begin(), result.tokens.end());
  const TextOwner a{.tenant = "a", .salt = {}};
  const TextOwner b{.tenant = "b", .salt = {}};
  EXPECT_NE(wait_for([&](auto done) { session.save_text(text, path, done, b); }).error, "");
  EXPECT_EQ(wait_for([&](auto done) { session.save_text(text, path, done, a); }).error, "");
  EXPECT_EQ(wait_for([&](auto done) { session.forget_text(text, done, b); }).tokens, 0);
  EXPECT_GT(write(session, request(prompt_), "a").cached_tokens, 0);
  EXPECT_GT(wait_for([&](auto done) { session.forget_text(text, done, a); }).tokens, 0);
  EXPECT_EQ(wait_for([&](auto done) { session.load_text(path, done, b); }).error, "");
  EXPECT_EQ(write(session, request(prompt_, 1), "a").cached_tokens, 0);
  EXPECT_GT(write(session, request(prompt_, 1), "b").cached_tokens, 10);
}

/// However many tenants there are: what is kept of all of them, and what look-ups learn, has one bound, and
/// the tokens are the same.
TEST_F(TenantsTest, TogetherTakeNoMoreThanTheCacheMay) {
  const Result alone = engine_->generate(request(prompt_, 30));
  engine_->forget();
  constexpr std::int64_t kCache = 24 * 40960;
  Session session(*engine_, {.parallel = 4, .memory = 2 * kCache, .cache_bytes = kCache});
  std::vector<Ticket> tickets;
  for (int i = 0; i < 120; ++i) {
    tickets.push_back(session.submit(request(prompt_, 30, i % 2 == 0 ? "suffix" : "draft,suffix"),
                                     {.tenant = std::to_string(i % 40)}));
  }
  for (const Ticket& ticket : tickets) {
    EXPECT_EQ(ticket.wait().tokens, alone.tokens);
    EXPECT_LE(session.load().cache_bytes_in_use, kCache);
    EXPECT_LE(session.load().memory_in_use, 2 * kCache);
  }
  session.drain();
  // The load is noted at the end of a step: this comes after the last one's.
  wait_for([&](Session::TextFileCallback done) { session.forget_text({}, std::move(done)); });
  EXPECT_LE(session.load().memory_in_use, kCache) << "nothing runs: what is there is kept or learnt";
  EXPECT_GT(session.load().memory_in_use, session.load().cache_bytes_in_use) << "what is learnt counts";
}

class SharesTest : public TenantsTest {};

/// One that has all places gives some to another that comes later, and goes on with the same tokens.
TEST_F(SharesTest, OneThatHasAllPlacesGivesWay) {
  const Result alone = engine_->generate(request(prompt_, 200));
  const Result brief = engine_->generate(request("One day,", 5));
  for (const bool keep : {true, false}) {
    Session session(*engine_, {.parallel = 5});
    std::optional<std::vector<Ticket>> others;
    std::vector<Ticket> many;
    std::set<int> writing;
    int ended_before_others = 0;
    int others_ended = 0;
    std::promise<void> all_are_there;
    bool begun = false;
    for (int i = 0; i < 9; ++i) {
      Request r = request(prompt_, 200, i % 2 == 0 ? "none" : "draft,ngram:policy=auto");
      r.cache_prompt = keep;
      const auto on_token = [&, i](const TokenEvent&) {
        if (!std::exchange(begun, true)) all_are_there.get_future().wait();
        writing.insert(i);
        if (writing.size() == 5 && !others) {
          others.emplace();
          for (int k = 0; k < 2; ++k) {
            others->push_back(
                session.submit(request("One day,", 5),
                               {.client = "other", .on_result = [&](const Result&) { ++others_ended; }}));
          }
        }
        return true;
      };
      const auto on_result = [&](const Result&) { ended_before_others += others_ended < 2; };
      many.push_back(session.submit(r, {.client = "many", .on_token = on_token, .on_result = on_result}));
    }
    all_are_there.set_value();
    for (const Ticket& t : many) EXPECT_EQ(t.wait().tokens, alone.tokens);
    ASSERT_TRUE(others);
    for (const Ticket& t : *others) EXPECT_EQ(t.wait().tokens, brief.tokens);
    EXPECT_EQ(ended_before_others, 0) << "200 tokens each, and they were there before";
  }
}

TEST_F(SharesTest, OneThatGaveWayCanBeCancelled) {
  Session session(*engine_, {.parallel = 2});
  std::optional<Ticket> other;
  std::vector<Ticket> many;
  std::set<int> writing;
  int seen = 0;
  std::promise<void> all_are_there;
  bool begun = false;
  for (int i = 0; i < 2; ++i) {
    const auto on_token = [&, i](const TokenEvent&) {
      if (!std::exchange(begun, true)) all_are_there.get_future().wait();
      writing.insert(i);
      if (writing.size() == 2 && !other)
        other =
            session.submit(request("One day,", 50), {.client = "other", .on_token = [&](const TokenEvent&) {
                                                       if (++seen == 10) many[1].cancel();
                                                       return true;
                                                     }});
      return true;
    };
    many.push_back(session.submit(request(prompt_, 400), {.client = "many", .on_token = on_token}));
  }
  all_are_there.set_value();
  const Result cancelled = many[1].wait();
  EXPECT_EQ(cancelled.finish_reason, FinishReason::Cancelled);
  EXPECT_FALSE(cancelled.tokens.empty()) << "what it has got by then";
  EXPECT_EQ(other->wait().tokens.size(), 50u);
  EXPECT_EQ(many[0].wait().tokens.size(), 400u);
}

TEST_F(SharesTest, PrioritiesAreAClientsOwnUnlessTheyAreForAll) {
  for (const bool across : {false, true}) {
    Session session(*engine_, {.parallel = 1, .priorities_across_clients = across});
    std::vector<std::string> order;
    const auto of = [&](const std::string& client, int priority) {
      return SubmitOptions{
          .priority = priority, .client = client, .on_result = [&order, client, priority](const Result&) {
            order.push_back(client + std::to_string(priority));
          }};
    };
    SubmitOptions first = of("first", 9);
    bool asked = false;
    first.on_token = [&](const TokenEvent&) {
      if (std::exchange(asked, true)) return true;
      session.submit(request("One", 2), of("a", 0));
      session.submit(request("One", 2), of("b", 5));
      session.submit(request("One", 2), of("a", 1));
      session.submit(request("One", 2), of("b", 6));
      return true;
    };
    session.submit(request("One", 30), first).wait();
    session.drain();
    if (across) {
      EXPECT_THAT(order, testing::ElementsAre("first9", "b6", "b5", "a1", "a0"));
    } else {
      EXPECT_THAT(order, testing::ElementsAre("first9", "a1", "b6", "a0", "b5"));
    }
  }
}

/// Who fills the queue leaves room for others all the same: its last requests are told to come again.
TEST_F(SharesTest, AFullQueueTurnsAwayWhoHasMostThere) {
  Session session(*engine_, {.parallel = 1, .queue = 4});
  std::vector<Ticket> many;
  std::optional<Ticket> other;
  bool refused = false;
  SubmitOptions options{.client = "many"};
  options.on_token = [&](const TokenEvent&) {
    if (!many.empty()) return true;
    for (int i = 0; i < 4; ++i) many.push_back(session.submit(request("One", 2), {.client = "many"}));
    try {
      session.submit(request("One", 2), {.client = "many"});
    } catch (const QueueFull&) {
      refused = true;
    }
    other = session.submit(request("One", 2), {.client = "other"});
    return true;
  };
  EXPECT_EQ(session.submit(request("One", 30), options).wait().error, "");
  EXPECT_TRUE(refused);
  EXPECT_EQ(other->wait().tokens.size(), 2u);
  EXPECT_TRUE(many[3].wait().crowded_out);
  EXPECT_EQ(many[3].wait().finish_reason, FinishReason::Error);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(many[static_cast<std::size_t>(i)].wait().tokens.size(), 2u);
}

}  // namespace
}  // namespace augur
