// Features of a request in C and in C++: the same.
#include <cmath>

#include "features_in_cpp.h"

namespace {

using namespace augur;
using namespace augur::testing_support;

/// The result of one request of a new engine.
void add_generated(Outcome& out, const Request& request, const TokenCallback& on_token = {}) {
  out.add(Engine(usual_feature_options()).generate(request, on_token));
}

TEST(CFeatures, Greedy) {
  expect_same(feature_greedy, [](Outcome& out) { add_generated(out, usual_feature_request()); });
}

TEST(CFeatures, Sampled) {
  expect_same(feature_sampled, [](Outcome& out) {
    Request request = usual_feature_request();
    request.sampling.temperature = 0.9;
    request.sampling.top_k = 40;
    request.sampling.top_p = 0.95;
    request.sampling.min_p = 0.01;
    request.sampling.seed = 7;
    add_generated(out, request);
  });
}

TEST(CFeatures, Penalties) {
  expect_same(feature_penalties, [](Outcome& out) {
    Request request = usual_feature_request();
    request.sampling.repetition_penalty = 1.3;
    request.sampling.presence_penalty = 0.2;
    request.sampling.frequency_penalty = 0.1;
    request.sampling.penalty_window = 16;
    add_generated(out, request);
  });
}

TEST(CFeatures, Bias) {
  expect_same(feature_bias, [](Outcome& out) {
    Request request = usual_feature_request();
    request.sampling.logit_bias = {{432, -INFINITY}, {261, -4.5f}, {300, 2.0f}};
    add_generated(out, request);
  });
}

TEST(CFeatures, Stop) {
  expect_same(feature_stop, [](Outcome& out) {
    Request request = usual_feature_request();
    request.stop = {"never said", "Lily"};
    const Result result = Engine(usual_feature_options()).generate(request);
    EXPECT_EQ(result.stop_string, "Lily");
    out.add(result.stop_string);
    out.add(to_string(result.finish_reason));
    out.add(static_cast<double>(result.prompt_tokens));
    out.add(result);
  });
}

TEST(CFeatures, IgnoreEos) {
  expect_same(feature_ignore_eos, [](Outcome& out) {
    Request request = usual_feature_request();
    request.ignore_eos = true;
    request.max_tokens = -1;
    add_generated(out, request);
  });
}

TEST(CFeatures, Events) {
  expect_same(feature_events, [](Outcome& out) {
    Request request = usual_feature_request();
    request.logprobs = 0;
    add_generated(out, request, [&](const TokenEvent& event) {
      out.add(event.token);
      out.add(event.depth);
      out.add(event.proposer);
      if (event.logprobs != nullptr) out.add(static_cast<double>(event.logprobs->logprob));
      return true;
    });
    EXPECT_NE(out.text.find("draft\n"), std::string::npos);
  });
}

void add_scored(Outcome& out, const Request& request) {
  const Result result = Engine(usual_feature_options()).generate(request);
  for (const auto* of : {&result.logprobs, &result.prompt_logprobs}) {
    for (const TokenLogprobs& token : *of) {
      out.add(static_cast<double>(token.logprob));
      for (const TokenLogprob& top : token.top) {
        out.add(top.token);
        out.add(static_cast<double>(top.logprob));
      }
    }
  }
  EXPECT_EQ(result.logprobs.size(), result.tokens.size());
  out.add(result);
}

TEST(CFeatures, Logprobs) {
  expect_same(feature_logprobs, [](Outcome& out) {
    Request request = usual_feature_request();
    request.logprobs = 3;
    add_scored(out, request);
  });
}

TEST(CFeatures, SampledLogprobs) {
  expect_same(feature_sampled_logprobs, [](Outcome& out) {
    Request request = usual_feature_request();
    request.sampling.temperature = 0.8;
    request.sampling.top_k = 5;
    request.logprobs = 5;
    request.sampled_logprobs = true;
    add_scored(out, request);
  });
}

TEST(CFeatures, PromptLogprobs) {
  expect_same(feature_prompt_logprobs, [](Outcome& out) {
    Request request = usual_feature_request();
    request.logprobs = 2;
    request.prompt_logprobs = true;
    add_scored(out, request);
  });
}

void add_drafted(Outcome& out, const char* plan) {
  Request request = usual_feature_request();
  request.speculation = SpeculationPlan::parse(plan);
  const Result result = Engine(usual_feature_options()).generate(request);
  out.add(result.speculation.type);
  out.add(static_cast<double>(result.speculation.calls));
  out.add(result);
}

TEST(CFeatures, Plan) {
  expect_same(feature_plan, [](Outcome& out) {
    add_drafted(out, "none");
    add_drafted(out, "draft:topk=3,depth=3,size=12");
    EXPECT_GT(out.numbers[0], out.numbers[1]) << "calls";
  });
}

TEST(CFeatures, Rejection) {
  expect_same(feature_rejection, [](Outcome& out) { add_drafted(out, "draft:n-max=4,verify=rejection"); });
}

constexpr const char* kSchema =
    R"({"type": "array", "items": {"enum": [1, 22]}, "maxItems": 3, "format": "email"})";

TEST(CFeatures, Grammar) {
  expect_same(feature_grammar, [](Outcome& out) {
    Request request = usual_feature_request();
    request.grammar = Grammar{.kind = GrammarKind::JsonSchema, .text = kSchema, .field = "grammar"};
    try {
      const Result result = Engine(usual_feature_options()).generate(request);
      for (const std::string& warning : result.warnings) out.add(warning);
      out.add(result);
    } catch (const Error& error) {
      out.add(error);
    }
  });
}

TEST(CFeatures, SpecialTokens) {
  expect_same(feature_special, [](Outcome& out) {
    Request request = usual_feature_request();
    request.prompt.clear();
    request.prompt_tokens = {1, 403, 407};
    request.max_tokens = 3;
    request.sampling.logit_bias = {{1, 100.0f}};
    add_generated(out, request);
    request.shown_tokens = {1};
    add_generated(out, request);
    request.shown_tokens.clear();
    request.show_special = true;
    add_generated(out, request);
  });
}

TEST(CFeatures, Thoughts) {
  expect_same(feature_thoughts, [](Outcome& out) {
    Request request = usual_feature_request();
    request.thoughts = ThoughtOptions{.begin = "<think>",
                                      .end = "</think>",
                                      .again = {},
                                      .begun = true,
                                      .most_tokens = 5,
                                      .written_end = {},
                                      .choice = {}};
    add_generated(out, request);
    EXPECT_NE(out.text.find("</think>"), std::string::npos);
  });
}

TEST(CFeatures, PromptIds) {
  expect_same(feature_prompt_ids, [](Outcome& out) {
    Request request = usual_feature_request();
    request.prompt.clear();
    request.prompt_tokens = {1, 403, 407, 261, 378};
    add_generated(out, request);
  });
}

TEST(CFeatures, Rounds) {
  expect_same(feature_rounds, [](Outcome& out) {
    Request request = usual_feature_request();
    request.speculation = SpeculationPlan::parse("draft:topk=2,depth=3,size=8");
    request.on_round = [&](const DraftRound& round) {
      out.add(round.next);
      out.add(static_cast<double>(round.drafted));
      out.add(static_cast<double>(round.batch_rows));
      for (const DraftRound::Node& node : round.nodes) {
        out.add(node.token);
        out.add(node.parent);
        out.add(static_cast<double>(node.accepted));
        out.add(node.probability);
        out.add(node.proposer);
      }
    };
    add_generated(out, request);
  });
}

TEST(CFeatures, Prefill) {
  expect_same(feature_prefill, [](Outcome& out) {
    Request request = usual_feature_request();
    request.on_prefill = [&](std::int64_t done, std::int64_t total) {
      out.add(static_cast<double>(done));
      out.add(static_cast<double>(total));
    };
    add_generated(out, request);
  });
}

TEST(CFeatures, Statistics) {
  expect_same(feature_statistics, [](Outcome& out) {
    const Result result = Engine(usual_feature_options()).generate(usual_feature_request());
    const SpeculationStatistics& s = result.speculation;
    out.add(s.type);
    for (const std::int64_t count : {s.calls, s.verified_tokens, s.drafted_tokens, s.accepted_tokens})
      out.add(static_cast<double>(count));
    out.add(s.mean_accepted_length);
    for (const std::int64_t rounds : s.accepted_per_position) out.add(static_cast<double>(rounds));
    out.add(result);
  });
}

TEST(CFeatures, StoppedByCallback) {
  expect_same(feature_stopped_by_callback, [](Outcome& out) {
    Engine engine(usual_feature_options());
    int tokens = 0;
    const Result result =
        engine.generate(usual_feature_request(), [&](const TokenEvent&) { return ++tokens < 5; });
    out.add(to_string(result.finish_reason));
    out.add(result);
    EXPECT_EQ(result.tokens.size(), 5u);
  });
}

TEST(CFeatures, CancelledInThePrompt) {
  expect_same(feature_cancelled_in_prompt, [](Outcome& out) {
    Request request = usual_feature_request();
    request.prompt.clear();
    for (int i = 0; i < 500; ++i) request.prompt_tokens.push_back(300 + i % 100);
    std::atomic<bool> cancel = false;
    int calls = 0;
    request.cancel = &cancel;
    request.on_prefill = [&](std::int64_t, std::int64_t) {
      ++calls;
      cancel = true;
    };
    const Result result = Engine(usual_feature_options()).generate(request);
    out.add(to_string(result.finish_reason));
    out.add(calls);
    out.add(result);
    EXPECT_EQ(result.finish_reason, FinishReason::Cancelled);
    EXPECT_EQ(result.tokens.size(), 0u);
  });
}

TEST(CFeatures, CancelledByAThread) {
  expect_same(feature_cancelled_by_thread, [](Outcome& out) {
    Request request = usual_feature_request();
    request.speculation = SpeculationPlan::parse("none");
    std::atomic<bool> cancel = false;
    request.cancel = &cancel;
    const Result result = Engine(usual_feature_options()).generate(request, [&](const TokenEvent&) {
      std::thread([&] { cancel = true; }).join();
      return true;
    });
    out.add(to_string(result.finish_reason));
    out.add(result);
    EXPECT_EQ(result.tokens.size(), 1u);
  });
}

TEST(CFeatures, Many) {
  expect_same(feature_many, [](Outcome& out) {
    Engine engine(usual_feature_options());
    std::vector<Request> requests(4, usual_feature_request());
    for (std::size_t i = 0; i < 4; ++i) {
      requests[i].sampling.temperature = 0.7;
      requests[i].sampling.seed = i;
    }
    requests[2].sampling.top_p = -1;
    std::vector<Result> results(4);
    const auto take = [&](std::size_t index, Result result) { results[index] = std::move(result); };
    engine.generate_many(requests, 2, take);
    for (const Result& result : results) {
      out.add(to_string(result.finish_reason));
      out.add(result.error);
      out.add(result.error_kind ? static_cast<double>(*result.error_kind) : 0.0);
      out.add(static_cast<double>(result.refused));
      out.add(result);
    }
    EXPECT_EQ(results[2].finish_reason, FinishReason::Error);
    out.add_failure([&] { engine.generate_many(requests, 0, take); });
  });
}

TEST(CFeatures, Errors) {
  expect_same(feature_errors, [](Outcome& out) {
    Engine engine(usual_feature_options());
    Request request = usual_feature_request();
    request.sampling.temperature = -1;
    out.add_failure([&] { engine.generate(request); });
    out.add_failure([] { SpeculationPlan::parse("draft:colour=red"); });
    out.add_failure([&] { engine.token_bytes(1 << 20); });
  });
}

}  // namespace
