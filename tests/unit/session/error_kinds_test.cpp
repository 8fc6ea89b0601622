// What kind each error is of, and the field that is to blame.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "augur/session.h"
#include "support/stories_engine.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

struct Caught {
  std::optional<ErrorKind> kind;
  std::string field;
  friend bool operator==(const Caught&, const Caught&) = default;
  friend void PrintTo(const Caught& caught, std::ostream* out) {
    *out << (caught.kind ? static_cast<int>(*caught.kind) : 0) << " in '" << caught.field << "'";
  }
};

Caught caught(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_STRNE(error.what(), "");
    return {error.kind(), error.field()};
  }
  return {};
}

class ErrorKinds : public testing_support::StoriesEngineTest {
 protected:
  static Caught loading(const std::function<void(EngineOptions&)>& change) {
    EngineOptions options = testing_support::stories_engine_options();
    change(options);
    return caught([&] { const Engine engine(options); });
  }
  static Caught generating(const std::function<void(Request&)>& change) {
    Request request;
    request.prompt = "Once";
    request.max_tokens = 2;
    change(request);
    const Caught thrown = caught([&] { engine_->generate(request); });
    // A session says the same, as a result.
    Session session(*engine_);
    const Result result = session.submit(request).wait();
    EXPECT_EQ(result.finish_reason, thrown.kind ? FinishReason::Error : FinishReason::Length);
    EXPECT_EQ((Caught{result.error_kind, result.refused_field}), thrown) << result.error;
    return thrown;
  }
  static Caught opening(const std::function<void(SessionOptions&)>& change) {
    SessionOptions options;
    change(options);
    return caught([&] { const Session session(*engine_, options); });
  }
};

TEST_F(ErrorKinds, OfLoading) {
  const testing_support::TemporaryFolder folder;
  const auto config = [&](const std::string& text) {
    std::ofstream(folder.path() / "config.json") << text;
    return loading([&](EngineOptions& options) { options.model = folder.path().string(); });
  };
  EXPECT_EQ(loading([](EngineOptions& o) { o.model = "/no/such/model"; }), (Caught{ErrorKind::NotFound, ""}));
  EXPECT_EQ(loading([&](EngineOptions& o) { o.model = folder.path().string(); }),
            (Caught{ErrorKind::NotFound, ""}));
  for (const char* name : {"tokenizer.model", "model.safetensors"})
    std::filesystem::copy_file(testing_support::stories_path() / name, folder.path() / name);
  EXPECT_EQ(config("{"), (Caught{ErrorKind::Malformed, ""}));
  EXPECT_EQ(config("[]"), (Caught{ErrorKind::Malformed, ""}));
  EXPECT_EQ(config(R"({"model_type": "a_family_to_come"})"), (Caught{ErrorKind::Unsupported, ""}));
  EXPECT_EQ(loading([](EngineOptions& o) { o.threads = -1; }), (Caught{ErrorKind::RefusedField, "threads"}));
  EXPECT_EQ(loading([](EngineOptions& o) { o.context = -1; }), (Caught{ErrorKind::RefusedField, "context"}));
  EXPECT_EQ(loading([](EngineOptions& o) { o.isa = "abacus"; }), (Caught{ErrorKind::RefusedField, "isa"}));
  EXPECT_EQ(loading([](EngineOptions& o) { o.speculation.drafters = {"oracle"}; }),
            (Caught{ErrorKind::RefusedField, "speculative"}));
  EXPECT_EQ(loading([](EngineOptions& o) { o.speculation.drafters = {"draft"}; }),
            (Caught{ErrorKind::RefusedField, "speculative"}));
  EXPECT_EQ(loading([](EngineOptions& o) { o.draft_model = "/no/such/model"; }),
            (Caught{ErrorKind::NotFound, ""}));
  EXPECT_EQ(caught([] { SpeculationPlan::parse("ngram:n-max=many"); }),
            (Caught{ErrorKind::RefusedField, "speculative"}));
}

TEST_F(ErrorKinds, OfRequests) {
  EXPECT_EQ(generating([](Request&) {}), Caught{});
  EXPECT_EQ(generating([](Request& r) { r.sampling.top_p = 2; }), (Caught{ErrorKind::RefusedField, "top_p"}));
  EXPECT_EQ(generating([](Request& r) { r.sampling.temperature = -1; }),
            (Caught{ErrorKind::RefusedField, "temperature"}));
  EXPECT_EQ(generating([](Request& r) { r.stop = {""}; }), (Caught{ErrorKind::RefusedField, "stop"}));
  EXPECT_EQ(generating([](Request& r) { r.prompt_tokens = {1}; }),
            (Caught{ErrorKind::RefusedField, "prompt"}));
  EXPECT_EQ(generating([](Request& r) { r.prompt.assign(20000, 'a'); }),
            (Caught{ErrorKind::ContextFull, ""}));
  EXPECT_EQ(generating([](Request& r) {
              r.prompt.clear();
              r.messages = {{.role = "user", .content = "Hello"}};
            }),
            (Caught{ErrorKind::Unsupported, ""}))
      << "this model has no chat template";
  EXPECT_EQ(generating([](Request& r) {
              for (TokenId id = 0; id < engine_->info().vocab; ++id)
                r.sampling.logit_bias.emplace_back(id, -std::numeric_limits<float>::infinity());
            }),
            (Caught{ErrorKind::RefusedField, "logit_bias"}));
  EXPECT_EQ(generating([](Request& r) {
              r.grammar = Grammar{GrammarKind::JsonSchema, "{", "format"};
            }),
            (Caught{ErrorKind::Malformed, "format"}));
  EXPECT_EQ(generating([](Request& r) {
              r.grammar = Grammar{GrammarKind::JsonSchema, R"({"pattern": "(a)\\1"})", "format"};
            }),
            (Caught{ErrorKind::Unsupported, "format"}));
}

TEST_F(ErrorKinds, OfSessions) {
  EXPECT_EQ(opening([](SessionOptions& o) { o.parallel = 0; }),
            (Caught{ErrorKind::RefusedField, "parallel"}));
  EXPECT_EQ(opening([](SessionOptions& o) { o.memory = 1; }), (Caught{ErrorKind::RefusedField, "memory"}));
  EXPECT_EQ(opening([](SessionOptions& o) { o.memory_share = 2; }),
            (Caught{ErrorKind::RefusedField, "memory_share"}));
  EXPECT_EQ(caught([] { throw QueueFull("full"); }), (Caught{ErrorKind::QueueFull, ""}));
}

TEST_F(ErrorKinds, OfWhatRunsAndWaits) {
  Session session(*engine_, {.parallel = 1, .queue = 2});
  Request request;
  request.prompt = "Once upon a time";
  std::promise<void> running;
  std::promise<void> go_on;
  SubmitOptions blocks;
  blocks.on_token = [&, first = true](const TokenEvent&) mutable {
    if (std::exchange(first, false)) {
      running.set_value();
      go_on.get_future().wait();
    }
    return true;
  };
  const Ticket first = session.submit(request, blocks);
  running.get_future().wait();
  const Ticket next = session.submit(request);
  const Ticket second = session.submit(request);
  EXPECT_EQ(caught([&] { session.submit(request); }), (Caught{ErrorKind::QueueFull, ""}));
  SubmitOptions of_another;
  of_another.client = "another";
  Ticket third = session.submit(request, of_another);
  third.cancel();
  go_on.set_value();
  EXPECT_EQ(second.wait().error_kind, ErrorKind::QueueFull) << "its client has the most waiting requests";
  EXPECT_TRUE(second.wait().crowded_out);
  EXPECT_EQ(third.wait().finish_reason, FinishReason::Cancelled);
  EXPECT_EQ(third.wait().error_kind, std::nullopt) << "who cancels a request has no error";
  EXPECT_EQ(first.wait().error_kind, std::nullopt);
  EXPECT_EQ(next.wait().error_kind, std::nullopt);
  EXPECT_EQ(caught([&] { engine_->generate(request); }), (Caught{ErrorKind::Misuse, ""}));
}

TEST_F(ErrorKinds, WhatFailsOnItsWayHasWhatItHasGot) {
  Request request;
  request.prompt = "Once upon a time";
  request.max_tokens = 12;
  const Result whole = engine_->generate(request);
  const auto after = [](int tokens, auto thrown) {
    return [=, taken = 0](const TokenEvent&) mutable {
      if (++taken == tokens) throw thrown;
      return true;
    };
  };
  Session session(*engine_);
  SubmitOptions options;
  options.on_token = after(3, std::runtime_error("enough"));
  const Result failed = session.submit(request, options).wait();
  EXPECT_EQ(failed.finish_reason, FinishReason::Error);
  EXPECT_EQ(failed.error, "enough");
  EXPECT_EQ(failed.error_kind, ErrorKind::Internal);
  EXPECT_FALSE(failed.refused);
  ASSERT_GE(failed.tokens.size(), 3u);
  EXPECT_TRUE(std::equal(failed.tokens.begin(), failed.tokens.end(), whole.tokens.begin()));
  EXPECT_FALSE(failed.text.empty());
  EXPECT_THAT(whole.text, testing::StartsWith(failed.text));

  options.on_token = after(2, std::bad_alloc());
  EXPECT_EQ(session.submit(request, options).wait().error_kind, ErrorKind::OutOfMemory);
  options.on_token = {};
  options.seconds = 1e-9;
  const Result late = session.submit(request, options).wait();
  EXPECT_TRUE(late.expired);
  EXPECT_EQ(late.error_kind, ErrorKind::Cancelled);
}

}  // namespace
}  // namespace augur
