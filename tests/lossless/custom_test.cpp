// The host program's own code on SmolLM2-135M-Instruct with its EAGLE-3 head: a drafter around the head
// drafts what that does, EAGLE-2's tree asked for from outside is the engine's own, and with a logits
// processor texts are those of plain decoding; in a batch, in a Session with kept texts, greedy and sampled.
#include <gtest/gtest.h>

#include "augur/session.h"
#include "support/custom_speculation.h"
#include "support/smollm2.h"
#include "support/stories_engine.h"

namespace augur {
namespace {

using testing_support::expect_equal_counts;
using testing_support::generate_all;

std::vector<Request> chat_requests() {
  std::vector<Request> requests;
  for (const double temperature : {0.0, 0.8}) {
    Request request;
    request.messages = {
        {"user", temperature > 0 ? "Count from one to ten." : "What is the capital of France?"}};
    request.max_tokens = 24;
    request.sampling.temperature = temperature;
    requests.push_back(std::move(request));
  }
  return requests;
}

TEST(CustomOnSmolLM2, HeadPolicyAndProcessorAreLossless) {
  AUGUR_NEED_SMOLLM2();
  EngineOptions options;
  options.model = testing_support::smollm2_path().string();
  options.draft_model = std::string(AUGUR_SOURCE_DIR) + "/models/smollm2-eagle3";
  options.threads = 2;
  options.cost_cache = "none";
  options.speculation = SpeculationPlan::parse("eagle3:policy=eagle2");
  options.custom_drafters = {testing_support::wrapping("eagle3")};
  options.custom_policies = {testing_support::eagle2_of_the_example()};
  Engine engine(options);
  std::vector<Request> requests = chat_requests();
  for (const bool processed : {false, true}) {
    if (processed) {
      for (Request& request : requests) {
        request.logits_processors.push_back([](std::span<const TokenId> tokens, std::span<float> logits) {
          for (std::size_t id = tokens.size() % 5; id < logits.size(); id += 5) logits[id] -= 2.0f;
        });
      }
    }
    const std::vector<Result> plain = generate_all(engine, requests, "none", 4);
    const std::vector<Result> own = generate_all(engine, requests, "eagle3:policy=eagle2,topk=4,size=12");
    for (const char* plan : {"@eagle3:policy=eagle2,topk=4,size=12", "eagle3:policy=@eagle2:topk=4;size=12",
                             "@eagle3:policy=@eagle2:topk=4;size=12"}) {
      const std::vector<Result> outside = generate_all(engine, requests, plan, 4);
      for (std::size_t i = 0; i < requests.size(); ++i) {
        SCOPED_TRACE(std::string(plan) + ", request " + std::to_string(i) + (processed ? ", processed" : ""));
        EXPECT_EQ(outside[i].error, "");
        EXPECT_EQ(outside[i].tokens, plain[i].tokens);
        EXPECT_EQ(own[i].tokens, plain[i].tokens);
        EXPECT_GT(outside[i].speculation.accepted_tokens, 0);
        expect_equal_counts(outside[i].speculation, own[i].speculation);
      }
    }
    Session session(engine, {.parallel = 2});
    for (int repeat = 0; repeat < 2; ++repeat) {
      std::vector<Ticket> tickets;
      for (Request request : requests) {
        request.speculation = SpeculationPlan::parse("@eagle3:policy=@eagle2:topk=4;size=12");
        tickets.push_back(session.submit(request));
      }
      for (std::size_t i = 0; i < requests.size(); ++i) {
        const Result result = tickets[i].wait();
        EXPECT_EQ(result.error, "");
        EXPECT_EQ(result.tokens, plain[i].tokens);
        EXPECT_GT(result.speculation.accepted_tokens, 0);
        if (repeat == 1) {
          EXPECT_GT(result.cached_tokens, 0) << "of its kept beginning, with the head's rows";
        }
      }
    }
  }
}

}  // namespace
}  // namespace augur
