// Memory may run out at any allocation of a session: what its thread, or who submits, cannot get ends one
// request with an error, or several, and never the process. The others' ids are what they would have been.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "augur/session.h"
#include "draft/suffix_drafter.h"
#include "heap.h"
#include "model/expert_rows.h"
#include "support/stories.h"

namespace augur {
namespace {

using testing_support::stories_path;

std::vector<Request> requests() {
  std::vector<Request> all;
  for (const char* prompt : {"Once upon a time", "Lily and Tom went to the park.", "One day,"}) {
    Request request;
    request.prompt = prompt;
    request.max_tokens = 100;
    request.ignore_eos = true;
    request.sampling = {.temperature = 0.8, .seed = 3};
    all.push_back(std::move(request));
  }
  return all;
}

/// What came of it. The one who waits gets a copy, for which there may be no memory: it is still there then.
Result result_of(const Ticket& ticket) {
  try {
    return ticket.wait();
  } catch (const std::bad_alloc&) {
    return ticket.wait();
  }
}

TEST(ExhaustedSession, EveryRequestHasAResult) {
  EngineOptions options;
  options.model = stories_path().string();
  options.threads = 1;
  options.cost_cache = "none";
  options.speculation = SpeculationPlan::parse("suffix,ngram:policy=eagle2,topk=2,size=8");
  Engine engine(options);
  std::vector<Request> wanted = requests();
  wanted.back().ignore_eos = false;
  wanted.back().grammar = Grammar{.kind = GrammarKind::Regex, .text = "[a-z ]+", .field = "grammar"};
  std::vector<std::vector<TokenId>> expected;
  for (const Request& r : wanted) expected.push_back(engine.generate(r).tokens);
  // So little that texts have to wait for one another in the middle.
  const SessionOptions session_options{.parallel = 3, .memory = 11 * 40960, .cache_bytes = 0};
  int failures = 0;
  bool reached = true;
  // All of the first allocations, and ever fewer of the later ones, which are alike.
  for (std::int64_t n = 1; reached; n += 1 + n / 24) {
    SCOPED_TRACE(testing::Message() << "allocation " << n);
    Session session(engine, session_options);
    std::vector<Request> all = wanted;
    std::vector<Ticket> tickets;
    std::vector<std::size_t> which;
    tickets.reserve(all.size());
    which.reserve(all.size());
    heap::fail_at(n);
    for (std::size_t i = 0; i < all.size(); ++i) {
      try {
        tickets.push_back(session.submit(std::move(all[i])));
        which.push_back(i);
      } catch (const std::bad_alloc&) {
        ++failures;
      }
    }
    for (std::size_t i = 0; i < tickets.size(); ++i) {
      const Result result = result_of(tickets[i]);
      if (result.finish_reason == FinishReason::Error) {
        EXPECT_NE(result.error, "");
        EXPECT_EQ(result.error_kind, ErrorKind::OutOfMemory);
        EXPECT_FALSE(result.refused) << result.refused_field;
        ++failures;
      } else {
        EXPECT_EQ(result.tokens, expected[which[i]]);
      }
    }
    reached = heap::has_failed();
    heap::fail_at(0);
  }
  EXPECT_GT(failures, 20);
}

/// What the system refuses in the middle of a batch, though the budget has it, ends nobody: the last request
/// waits, and all have the tokens that they have alone.
TEST(ExhaustedSession, ARefusedReservationHasRequestsWait) {
  EngineOptions options;
  options.model = stories_path().string();
  options.threads = 1;
  options.cost_cache = "none";
  std::vector<std::vector<TokenId>> expected;
  bool reached = true;
  int refused = 0;
  for (std::int64_t n = 1; reached; ++n) {
    SCOPED_TRACE(testing::Message() << "mapping " << n);
    Engine engine(options);  // that has made no room for more than one text yet
    if (expected.empty()) {
      Engine other(options);
      for (const Request& r : requests()) expected.push_back(other.generate(r).tokens);
    }
    Session session(engine, {.parallel = 4, .cache_bytes = 0});
    std::vector<Request> all = requests();
    std::promise<void> running;
    std::promise<void> go_on;
    bool first = true;
    std::vector<Ticket> tickets;
    tickets.push_back(session.submit(all[0], {.on_token = [&](const TokenEvent&) {
                                       if (std::exchange(first, false)) {
                                         running.set_value();
                                         go_on.get_future().wait();
                                       }
                                       return true;
                                     }}));
    running.get_future().wait();
    for (std::size_t i = 1; i < all.size(); ++i) tickets.push_back(session.submit(all[i]));
    heap::fail_mapping_at(n);
    go_on.set_value();
    for (std::size_t i = 0; i < tickets.size(); ++i) {
      const Result result = result_of(tickets[i]);
      EXPECT_EQ(result.error, "") << i;
      EXPECT_EQ(result.tokens, expected[i]) << i;
    }
    reached = heap::has_failed();
    heap::fail_mapping_at(0);
    refused += reached;
  }
  EXPECT_GT(refused, 0);
}

/// A drafter that ends keeps as much of its output as there is memory for.
TEST(ExhaustedSuffix, EndsWithoutIt) {
  std::vector<TokenId> text(600);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<TokenId>(i * i % 509);
  bool reached = true;
  int refused = 0;
  for (std::int64_t n = 1; reached; ++n) {
    const auto earlier = std::make_shared<SuffixMemory>(SuffixDrafter::Options{}.depth, std::size_t{1} << 20);
    auto drafter = std::make_unique<SuffixDrafter>(earlier, nullptr, SuffixDrafter::Options{});
    const std::span<const TokenId> all(text);
    drafter->sync({.tokens = all.first(10), .next = text[10]});
    DraftTree tree;
    tree.reset(text[10], 10);
    const std::int32_t root[] = {DraftTree::kRoot};
    drafter->expand(tree, root, {.top_k = 4, .max_nodes = 4});
    drafter->sync({.tokens = all.subspan(10, 580), .first_position = 10, .next = text[590]});
    heap::fail_at(n);
    drafter.reset();
    reached = heap::has_failed();
    heap::fail_at(0);
    refused += reached;
    // What is kept is whole.
    SuffixView view(*earlier);
    for (std::size_t i = 1; i <= 40; ++i) view.advance(all.subspan(11, i), false);
  }
  EXPECT_GT(refused, 5);
}

/// Rows are routed where nothing may throw.
TEST(ExpertRows, TakeNoMemoryWhereTheyAreRouted) {
  const ExpertSpec spec{.count = 32, .active = 4};
  ExpertRows rows;
  rows.reserve(spec, 64);
  const std::int64_t before = heap::allocations();
  std::vector<float> scores(32);
  const std::int64_t of_scores = heap::allocations() - before;
  for (const int count : {1, 64, 7}) {
    rows.reset(spec, count);
    for (int row = 0; row < count; ++row) {
      for (std::size_t e = 0; e < scores.size(); ++e) scores[e] = static_cast<float>((e * 7 + row * 5) % 32);
      rows.route(row, scores.data(), nullptr);
    }
    rows.group();
  }
  EXPECT_EQ(heap::allocations(), before + of_scores);
}

}  // namespace
}  // namespace augur
