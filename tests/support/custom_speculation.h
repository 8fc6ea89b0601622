#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "augur/session.h"
#include "examples/embed/eagle2_policy.h"

namespace augur::testing_support {

/// Leaves all to a built-in drafter.
class WrappingDrafter final : public CustomDrafter {
 public:
  WrappingDrafter(DrafterSetup& setup, const std::string& name) : inner_(setup.built_in(name)) {}
  DrafterTraits traits() const override { return inner_.traits(); }
  void propose(const DraftRequest& request, std::vector<Proposal>&) override {
    inner_.draft(request.frontier);
  }

 private:
  BuiltInDrafter& inner_;
};

/// "@NAME" wraps NAME.
inline CustomDrafterType wrapping(const std::string& name) {
  return {.name = name,
          .make = [name](DrafterSetup& setup) { return std::make_unique<WrappingDrafter>(setup, name); }};
}

/// "@eagle2" asks for the trees of the engine's own "eagle2", by the same settings.
inline CustomPolicyType eagle2_of_the_example() {
  return {.name = "eagle2", .make = [](const PolicySetup& setup) {
            Eagle2Tree::Shape shape;
            for (const auto& [key, value] : setup.settings) {
              if (key == "topk") shape.children = std::stoi(value);
              if (key == "depth") shape.levels = std::stoi(value);
              if (key == "size") shape.size = std::stoi(value);
            }
            return std::make_unique<Eagle2Tree>(shape);
          }};
}

/// What both did, but for its times.
inline void expect_equal_counts(const SpeculationStatistics& a, const SpeculationStatistics& b) {
  EXPECT_EQ(a.calls, b.calls);
  EXPECT_EQ(a.verified_tokens, b.verified_tokens);
  EXPECT_EQ(a.drafted_tokens, b.drafted_tokens);
  EXPECT_EQ(a.accepted_tokens, b.accepted_tokens);
  EXPECT_EQ(a.mean_accepted_length, b.mean_accepted_length);
  EXPECT_EQ(a.accepted_per_position, b.accepted_per_position);
}

/// The same texts by the same drafts, of which there are some.
inline void expect_equal_runs(const std::vector<Result>& found, const std::vector<Result>& expected,
                              const std::string& plan) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE(plan + ", request " + std::to_string(i));
    EXPECT_EQ(found[i].error, "");
    EXPECT_EQ(found[i].tokens, expected[i].tokens);
    EXPECT_GT(found[i].speculation.drafted_tokens, 0);
    expect_equal_counts(found[i].speculation, expected[i].speculation);
  }
}

/// Texts of several kinds, some of which begin alike.
inline std::vector<Request> speculation_requests(std::int64_t tokens = 60) {
  std::vector<Request> requests;
  for (const char* prompt :
       {"Once upon a time", "Lily and Tom went to the park.", "Once upon a time, there was"}) {
    for (const double temperature : {0.0, 0.8}) {
      Request request;
      request.prompt = prompt;
      request.max_tokens = tokens + static_cast<std::int64_t>(requests.size());
      request.sampling.temperature = temperature;
      request.sampling.seed = 3 + requests.size();
      requests.push_back(std::move(request));
    }
  }
  return requests;
}

inline std::vector<Result> generate_all(Engine& engine, std::vector<Request> requests,
                                        const std::string& plan, int parallel = 1) {
  for (Request& request : requests) request.speculation = SpeculationPlan::parse(plan);
  std::vector<Result> results(requests.size());
  engine.generate_many(requests, parallel,
                       [&](std::size_t i, Result result) { results[i] = std::move(result); });
  return results;
}

/// Three requests in one batch, of which the second, drafted by `plan`, goes wrong in its third round: it
/// ends with the error `message` of `who`, or with "no idea" of nobody, and has the tokens of the rounds
/// before. The others do not notice.
inline void expect_to_fail_alone(Engine& engine, const std::string& plan, const std::string& who,
                                 const std::string& message) {
  std::vector<Request> requests(3, speculation_requests()[0]);
  const std::vector<TokenId> plain = generate_all(engine, {requests[0]}, "none")[0].tokens;
  for (std::size_t i = 0; i < 3; ++i)
    requests[i].speculation = SpeculationPlan::parse(i == 1 ? plan : "draft:policy=eagle2");
  engine.generate_many(requests, 3, [&](std::size_t i, const Result& result) {
    if (i != 1) {
      EXPECT_EQ(result.tokens, plain);
      return;
    }
    EXPECT_EQ(result.finish_reason, FinishReason::Error);
    EXPECT_NE(result.error.find(message), std::string::npos) << result.error;
    EXPECT_EQ(result.tokens.size(), 2u) << "of the rounds before";
    if (result.error == "no idea") return;
    EXPECT_TRUE(result.error.starts_with(who + ": ")) << result.error;
    EXPECT_EQ(result.error_kind, ErrorKind::Misuse);
  });
}

/// The first three, each with its own plan, by a Session with two places: the second is suspended for the
/// third, which another client submits, and goes on later.
inline std::vector<Result> generate_suspended(Engine& engine, const std::vector<Request>& requests) {
  Session session(engine, {.parallel = 2});
  std::optional<Ticket> tickets[3];  // all but the first are submitted by the session's thread
  int tokens = 0;
  const auto on_third = [&](const TokenEvent&) {
    if (++tokens == 5) tickets[2] = session.submit(requests[2], {.client = "b"});
    return true;
  };
  const auto on_second = [&](const TokenEvent&) {
    if (!tickets[1]) tickets[1] = session.submit(requests[1], {.client = "a", .on_token = on_third});
    return true;
  };
  tickets[0] = session.submit(requests[0], {.client = "a", .on_token = on_second});
  std::vector<Result> results;
  for (std::optional<Ticket>& ticket : tickets) {
    results.push_back(ticket ? ticket->wait() : Result());
    EXPECT_TRUE(ticket.has_value());
  }
  EXPECT_GT(session.load().preemptions, 0);
  return results;
}

}  // namespace augur::testing_support
