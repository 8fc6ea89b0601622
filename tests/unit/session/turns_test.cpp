#include "session/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <vector>

namespace augur {
namespace {

class TurnsTest : public testing::Test {
 protected:
  const Turn* add(const std::string& client, int priority = 0) {
    Client& its = clients_.try_emplace(client, Client{.name = client}).first->second;
    all_.push_back({.client = &its, .priority = priority, .number = ++clock_});
    return &all_.back();
  }
  std::map<std::string, Client> clients_;
  std::deque<Turn> all_;
  std::int64_t clock_ = 0;
  const Turns fair_{false};
  const Turns by_priority_{true};
};

TEST_F(TurnsTest, TheClientWithTheFewestIsNextAndThenWhoCameFirst) {
  const std::vector<const Turn*> running = {add("a"), add("a"), add("b")};
  const std::vector<const Turn*> waiting = {add("a"), add("b"), add("c"), add("d"), add("c")};
  EXPECT_EQ(fair_.next(waiting, running), 2u);
  EXPECT_EQ(fair_.next(std::vector{waiting[0], waiting[1]}, running), 1u);
}

TEST_F(TurnsTest, PrioritiesOrderAClientsOwnRequests) {
  const std::vector<const Turn*> running = {add("a")};
  const std::vector<const Turn*> waiting = {add("a", 5), add("b", 0), add("b", 3), add("b", 3)};
  EXPECT_EQ(fair_.next(waiting, running), 2u);
  EXPECT_EQ(by_priority_.next(waiting, running), 0u);
  const std::vector<const Turn*> equals = {add("c", 0), add("d", 9)};
  EXPECT_EQ(fair_.next(equals, {}), 0u) << "nobody goes before others by saying so";
  EXPECT_EQ(by_priority_.next(equals, {}), 1u);
}

TEST_F(TurnsTest, WhoHasTwoMoreGivesWay) {
  const Turn& other = *add("b");
  std::vector<const Turn*> running = {add("a", 1), add("a", 1), add("a", 2)};
  EXPECT_EQ(fair_.gives_way(other, running), 1u) << "the last of the lowest priority";
  EXPECT_EQ(by_priority_.gives_way(other, running), std::nullopt) << "they go before it";
  EXPECT_EQ(fair_.gives_way(*add("a", 9), running), std::nullopt) << "a client makes no room for itself";
  running.resize(1);
  EXPECT_EQ(fair_.gives_way(other, running), std::nullopt) << "a place for a place";
  running.push_back(add("b"));
  running.push_back(add("a"));
  EXPECT_EQ(fair_.gives_way(other, running), std::nullopt) << "then it would have less";
}

TEST_F(TurnsTest, WhoHasJustGotAPlaceKeepsItForNow) {
  std::vector<Turn> turns(4, *add("a"));
  turns.push_back(*add("b"));
  turns[2].settled = turns[3].settled = turns[4].settled = false;
  const std::vector<const Turn*> running = {&turns[0], &turns[1], &turns[2], &turns[3], &turns[4]};
  EXPECT_EQ(fair_.gives_way(*add("b"), running), 0u) << "4 of one, 1 of the other: all count";
  EXPECT_EQ(fair_.gives_way(*add("b"), std::vector{running[2], running[3], running[4]}), std::nullopt);
}

TEST_F(TurnsTest, MemoryIsGivenBackByTheClientWithTheMost) {
  const std::vector<const Turn*> running = {add("a", 1), add("a"), add("b", -1), add("c", 3)};
  EXPECT_EQ(fair_.last(running), 1u);
  EXPECT_EQ(by_priority_.last(running), 2u);
  EXPECT_EQ(fair_.last(std::vector{running[2], running[3]}), 1u) << "of equals the newest";
}

/// Whoever sends many at once is not served before all others that came a moment later.
TEST_F(TurnsTest, OfEqualClientsTheOneThatWasServedLongestAgo) {
  std::vector<const Turn*> waiting;
  for (int i = 0; i < 4; ++i) waiting.push_back(add("many", i));
  for (const char* client : {"b", "c", "b"}) waiting.push_back(add(client));
  std::string order;
  while (!waiting.empty()) {
    const auto next = waiting.begin() + static_cast<std::ptrdiff_t>(fair_.next(waiting, {}));
    order += (*next)->client->name + " ";
    (*next)->client->served = ++clock_;
    waiting.erase(next);
  }
  EXPECT_EQ(order, "many b c many b many many ");
}

/// Whatever comes in which order: places are shared within one of each other, or whoever has fewer wants no
/// more.
TEST_F(TurnsTest, EveryoneHasItsShareWhateverOthersSend) {
  constexpr std::size_t kPlaces = 5;
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<const Turn*> running;
    std::vector<const Turn*> waiting;
    for (int i = 0; i < 40; ++i) {
      // One sends half of all.
      const std::string client =
          random() % 2 == 0 ? "many" : std::string(1, static_cast<char>('a' + random() % 4));
      waiting.push_back(add(client, static_cast<int>(random() % 3)));
      if (random() % 3 == 0 && !running.empty())
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(random() % running.size()));
      std::size_t moves = 0;
      while (!waiting.empty()) {
        const std::size_t next = fair_.next(waiting, running);
        const Turn* const turn = waiting[next];
        if (running.size() < kPlaces) {
          waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(next));
          running.push_back(turn);
          continue;
        }
        const auto gone = fair_.gives_way(*turn, running);
        if (!gone) break;
        ASSERT_LE(++moves, kPlaces) << "it comes to an end";
        std::swap(waiting[next], running[*gone]);
      }
      std::map<std::string, int> has;
      for (const Turn* t : running) ++has[t->client->name];
      for (const Turn* t : waiting) {
        const auto most =
            std::max_element(has.begin(), has.end(), [](auto& x, auto& y) { return x.second < y.second; });
        ASSERT_LE(most->second, has[t->client->name] + 1) << t->client->name;
      }
    }
  }
}

}  // namespace
}  // namespace augur
