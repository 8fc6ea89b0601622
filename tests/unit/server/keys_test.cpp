#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "server/keys/api_key.h"
#include "server/keys/key_account.h"
#include "server/keys/key_ring.h"
#include "server/problem.h"
#include "support/error_of.h"
#include "support/hand_clock.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing_support::error_of;
using testing_support::HandClock;

TEST(ApiKeys, AreLinesWithNamesLimitsAndComments) {
  const std::vector<ApiKey> keys = parse_keys(
      "# the team's\n"
      "\n"
      "alice:sk-1\r\n"
      "  bob@example.org: sk-2   requests=4 tokens-per-minute=6000  # until May\n"
      "sk#3=/+\n"
      "grafana:sk-4\tmetrics\n"
      "a:b:c",
      "keys");
  ASSERT_EQ(keys.size(), 5U);
  EXPECT_EQ(keys[0].name, "alice");
  EXPECT_EQ(keys[0].secret, "sk-1");
  EXPECT_EQ(keys[0].limits, KeyLimits{});
  EXPECT_EQ(keys[1].name, "bob@example.org");
  EXPECT_EQ(keys[1].secret, "sk-2");
  EXPECT_EQ(keys[1].limits, (KeyLimits{.answers = 4, .tokens_per_minute = 6000}));
  EXPECT_EQ(keys[2].name, "");
  EXPECT_EQ(keys[2].secret, "sk#3=/+");
  EXPECT_TRUE(keys[3].metrics_only);
  EXPECT_EQ(keys[4].name, "a");
  EXPECT_EQ(keys[4].secret, "b:c") << "the first colon ends the name";
  EXPECT_EQ(keys[4].origin, "keys: line 7");
  EXPECT_THAT(parse_keys("", "keys"), IsEmpty());
}

TEST(ApiKeys, WhatIsNoneIsNamedByItsLineAndNotShown) {
  const std::string longest(1024, 'S');
  for (const std::string& line : std::vector<std::string>{"a b:SECRET",
                                                          ":SECRET",
                                                          "-a:SECRET",
                                                          "\xEF\xBB\xBF"
                                                          "a:SECRET",
                                                          std::string(65, 'a') + ":SECRET",
                                                          "key-3:SECRET",
                                                          "alice:",
                                                          "alice: # SECRET",
                                                          "alice:SECR\xC3\x84T",
                                                          "alice:SECRET" + longest,
                                                          "alice:SECRET SECRET",
                                                          "alice SECRET",
                                                          "alice:SECRET request=3",
                                                          "alice:SECRET requests=0",
                                                          "alice:SECRET requests=-1",
                                                          "alice:SECRET requests=3x",
                                                          "alice:SECRET requests=99999999999999999999",
                                                          "alice:SECRET requests",
                                                          "alice:SECRET tokens-per-minute=",
                                                          "alice:SECRET metrics requests=2"}) {
    EXPECT_THAT(error_of([&] { parse_keys("# first\n" + line, "keys.txt"); }),
                AllOf(HasSubstr("keys.txt: line 2: "), HasSubstr("expected"), Not(HasSubstr("SECR"))))
        << line;
  }
  EXPECT_EQ(parse_keys("alice:" + longest, "keys").size(), 1U);
}

class KeyRingTest : public testing::Test {
 protected:
  /// As an administrator changes a file: it is there whole, or as it was.
  void write(const std::string& text) {
    std::ofstream(file() + ".new", std::ios::binary) << text;
    std::filesystem::rename(file() + ".new", file());
  }
  std::string file() const { return (folder_.path() / "keys").string(); }
  KeyRing ring() { return KeyRing({.lines = {}, .file = file()}, clock_); }
  static std::string name_of(const KeyRing& ring, std::string_view sent) {
    const KeyRing::Holder holder = ring.find(sent);
    return holder.account ? holder.account->name() : "nobody";
  }

  HandClock clock_;
  const testing_support::TemporaryFolder folder_;
};

TEST_F(KeyRingTest, WithoutSourcesNoKeyIsNeeded) {
  EXPECT_FALSE(KeyRing({}).locks());
  EXPECT_FALSE(KeyRing({.lines = {}, .file = {}, .metrics_key = "m"}).locks());
  EXPECT_TRUE(KeyRing({.lines = {"a"}}).locks());
}

TEST_F(KeyRingTest, SourcesWithoutKeysAreRefused) {
  EXPECT_THAT(error_of([] { KeyRing({.lines = {""}}); }), HasSubstr("an API key is empty"));
  EXPECT_THAT(error_of([] { KeyRing({.lines = {"a", ""}}); }), HasSubstr("an API key is empty"));
  EXPECT_THAT(error_of([] { KeyRing({.lines = {"# a"}}); }), HasSubstr("an API key is empty"));
  EXPECT_THAT(error_of([] { KeyRing({.lines = {"m:a metrics"}}); }), HasSubstr("found none"))
      << "nobody could use the server";
  for (const char* none : {"", "# nothing\n\n", "m:a metrics\n"}) {
    write(none);
    EXPECT_THAT(error_of([&] { ring(); }), AllOf(HasSubstr(file()), HasSubstr("found none"))) << none;
  }
  EXPECT_THAT(error_of([&] { KeyRing({.lines = {}, .file = file() + "/none"}); }),
              HasSubstr("cannot be read: Not a directory"));
  EXPECT_THAT(error_of([&] { KeyRing({.lines = {}, .file = folder_.path().string()}); }),
              HasSubstr("is a folder"));
  write(std::string((std::size_t{1} << 20) + 1, '\n'));
  EXPECT_THAT(error_of([&] { ring(); }), HasSubstr("at most 1 MiB"));
}

TEST_F(KeyRingTest, ANameMayHaveSeveralKeysAndAKeyOneName) {
  const KeyRing keys({.lines = {"alice:old\nalice:new", "bob:b", "bare"}, .file = {}, .metrics_key = "m"});
  EXPECT_EQ(keys.find("old").account, keys.find("new").account);
  EXPECT_EQ(keys.find("ne").account, nullptr);
  EXPECT_EQ(keys.find("").account, nullptr);
  EXPECT_EQ(name_of(keys, "bare"), "key-1");
  EXPECT_EQ(name_of(keys, "m"), "metrics");
  EXPECT_TRUE(keys.find("m").metrics_only);
  EXPECT_EQ(keys.accounts(), 3U);
  EXPECT_THAT(error_of([] {
                KeyRing({.lines = {"alice:same", "bob:same"}});
              }),
              AllOf(HasSubstr("expected a key of its own"), Not(HasSubstr("same"))));
  EXPECT_THAT(error_of([] { KeyRing({.lines = {"alice:a requests=1", "alice:b"}}); }), HasSubstr("'alice'"));
  EXPECT_THAT(error_of([] { KeyRing({.lines = {"a:x"}, .file = {}, .metrics_key = "x"}); }),
              HasSubstr("expected a key of its own"));
}

/// A name is the same whatever keys it has; a key without one is nobody else.
TEST_F(KeyRingTest, AccountsAreToldApartByNameOrKey) {
  const KeyRing keys({.lines = {"alice:a", "bob:b", "alice", "bob"}});
  std::vector<std::string> ids;
  for (const auto& account : keys.all()) ids.push_back(account->id());
  ASSERT_EQ(ids.size(), 4U);
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
  for (const std::string& id : ids) EXPECT_THAT(id, Not(HasSubstr("alice")));
  EXPECT_EQ(keys.find("a").account->id(), KeyRing({.lines = {"alice:other"}}).find("other").account->id());
}

TEST_F(KeyRingTest, AReloadAddsAndRemovesAndSaysWhat) {
  write("alice:a1\nbob:b1\nloose\n");
  KeyRing keys = ring();
  const std::shared_ptr<KeyAccount> alice = keys.find("a1").account;
  write("alice:a2\nalice:a1\ncarol:c1\nloose\nother\n");
  const KeyChange change = keys.reload();
  EXPECT_THAT(change.added, ElementsAre("carol", "key-2"));
  EXPECT_THAT(change.removed, ElementsAre("bob"));
  EXPECT_THAT(change.changed, ElementsAre("alice"));
  EXPECT_EQ(keys.find("a2").account, alice) << "it goes on as the same";
  EXPECT_EQ(keys.find("a1").account, alice);
  EXPECT_EQ(name_of(keys, "b1"), "nobody");
  EXPECT_EQ(name_of(keys, "loose"), "key-1") << "names that were given stay";
  const KeyChange nothing = keys.reload();
  EXPECT_THAT(nothing.added, IsEmpty());
  EXPECT_THAT(nothing.removed, IsEmpty());
  EXPECT_THAT(nothing.changed, IsEmpty());
  write("alice:a2 requests=1\nalice:a1 requests=1\ncarol:c1\nloose\nother\n");
  EXPECT_THAT(keys.reload().changed, ElementsAre("alice")) << "a limit is another";
}

/// A server must not open, and nobody be locked out, because a file is not there for a moment.
TEST_F(KeyRingTest, WhereAReloadCannotBeAllStaysAsItWas) {
  write("alice:a1\n");
  KeyRing keys = ring();
  for (const char* text : {"", "# alice:a1\n", "alice:a2\nbob:a2\n", "alice:a2\nbob:b1 limit\n"}) {
    write(text);
    EXPECT_THAT(error_of([&] { keys.reload(); }), HasSubstr(file())) << text;
    EXPECT_EQ(name_of(keys, "a1"), "alice") << text;
    EXPECT_EQ(name_of(keys, "a2"), "nobody") << text;
    EXPECT_TRUE(keys.locks());
  }
  std::filesystem::remove(file());
  EXPECT_THAT(error_of([&] { keys.reload(); }), HasSubstr(file()));
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { keys.reload(); }), HasSubstr("can be read again")) << "it would wait for ever";
  EXPECT_EQ(name_of(keys, "a1"), "alice");
  KeyRing fixed({.lines = {"a"}});
  EXPECT_THAT(fixed.reload().removed, IsEmpty());
  EXPECT_EQ(name_of(fixed, "a"), "key-1");
}

class KeyAccountTest : public testing::Test {
 protected:
  /// "STATUS Retry-After" of what is refused, "0" otherwise.
  std::string take(KeyLease& lease, std::int64_t answers, std::int64_t tokens) {
    try {
      lease.take(answers, tokens, "n");
    } catch (const Problem& problem) {
      EXPECT_THAT(problem.what(), HasSubstr("'alice'"));
      std::string told = std::to_string(problem.status());
      for (const auto& [name, value] : problem.headers()) told += " " + value;
      return told;
    }
    return "0";
  }
  std::string take(std::int64_t answers, std::int64_t tokens) {
    return take(leases_.emplace_back(account_), answers, tokens);
  }

  HandClock clock_;
  const std::shared_ptr<KeyAccount> account_ = std::make_shared<KeyAccount>("alice", "id", clock_);
  std::deque<KeyLease> leases_;
};

TEST_F(KeyAccountTest, WithoutLimitsNothingIsRefused) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(take(1000, 1'000'000), "0");
  KeyLease nobodys(nullptr);
  EXPECT_EQ(take(nobodys, 1000, 1000), "0");
  nobodys.wrote(1);
  nobodys.answer_ended();
}

TEST_F(KeyAccountTest, AnswersAtOnceAreLimited) {
  account_->set_limits({.answers = 3});
  EXPECT_EQ(take(4, 1), "400") << "it can never be";
  EXPECT_EQ(take(2, 1), "0");
  EXPECT_EQ(take(2, 1), "429 1");
  EXPECT_EQ(take(1, 1), "0");
  EXPECT_EQ(take(1, 1), "429 1");
  EXPECT_EQ(account_->counts().running, 3);
  EXPECT_EQ(account_->counts().refused_answers, 2);
  leases_[1].answer_ended();
  EXPECT_EQ(take(1, 1), "0") << "one of two has ended";
  leases_[1].answer_ended();
  leases_[1].answer_ended();
  EXPECT_EQ(account_->counts().running, 2) << "nothing ends twice";
  leases_.clear();
  EXPECT_EQ(account_->counts().running, 0) << "what is dropped has ended, too";
}

TEST_F(KeyAccountTest, TokensFillABucketThatAMinuteFills) {
  account_->set_limits({.tokens_per_minute = 600});
  EXPECT_EQ(take(1, 500), "0");
  leases_[0].wrote(99);
  EXPECT_EQ(take(1, 1000), "0") << "one is left: what begins is finished";
  EXPECT_EQ(take(1, 1), "429 100") << "999 are owed, ten come back a second";
  clock_.pass(99'800);
  EXPECT_EQ(take(1, 1), "429 1");
  clock_.pass(200);
  EXPECT_EQ(take(1, 1), "0");
  clock_.pass(3600e3);
  EXPECT_EQ(take(1, 600), "0");
  EXPECT_EQ(take(1, 1), "429 1") << "no more than a minute's is saved up";
  EXPECT_EQ(account_->counts().refused_tokens, 3);
}

TEST_F(KeyAccountTest, PromptsThatNeverBeganAreGivenBack) {
  account_->set_limits({.tokens_per_minute = 100});
  EXPECT_EQ(take(1, 100), "0");
  EXPECT_EQ(take(1, 1), "429 1");
  leases_[0].give_back(100);
  EXPECT_EQ(take(1, 1), "0");
}

TEST_F(KeyAccountTest, OtherLimitsForgiveNothing) {
  account_->set_limits({.answers = 1, .tokens_per_minute = 100});
  EXPECT_EQ(take(1, 150), "0");
  account_->set_limits({.answers = 2, .tokens_per_minute = 100});
  EXPECT_EQ(take(1, 1), "429 31") << "50 are owed";
  account_->set_limits({.answers = 1, .tokens_per_minute = 0});
  EXPECT_EQ(take(1, 1), "429 1") << "the first one still runs";
}

}  // namespace
}  // namespace augur
