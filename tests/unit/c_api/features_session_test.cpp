// Features of a session in C and in C++: the same.
#include <algorithm>
#include <array>
#include <future>

#include "features_in_cpp.h"
#include "support/eventually.h"

namespace {

using namespace augur;
using namespace augur::testing_support;

void add_waited(Outcome& out, const Ticket& ticket) {
  const Result result = ticket.wait();
  if (result.finish_reason == FinishReason::Error) {
    out.add(static_cast<double>(result.error_kind.value()));
    out.add(result.refused_field);
    out.add(result.error);
  } else {
    out.add(result);
  }
}

TEST(CFeatures, Session) {
  expect_same(feature_session, [](Outcome& out) {
    // What each has alone.
    Engine engine(usual_feature_options());
    for (int i = 0; i < 3; ++i) {
      Request request = usual_feature_request();
      request.sampling.temperature = 0.5 * i;
      request.sampling.seed = static_cast<std::uint64_t>(i);
      out.add(engine.generate(request));
    }
  });
}

TEST(CFeatures, Clients) {
  expect_same(feature_clients, [](Outcome& out) {
    Engine engine(usual_feature_options());
    Session session(engine);
    std::vector<Ticket> tickets;
    for (int i = 0; i < 3; ++i) {
      SubmitOptions options;
      options.client = options.tenant = std::array{"a", "b", ""}[static_cast<std::size_t>(i)];
      options.priority = 3 - i;
      tickets.push_back(session.submit(usual_feature_request(), options));
    }
    for (const Ticket& ticket : tickets) add_waited(out, ticket);
  });
}

TEST(CFeatures, Deadline) {
  expect_same(feature_deadline, [](Outcome& out) {
    Engine engine(usual_feature_options());
    Session session(engine);
    SubmitOptions options;
    options.seconds = 1e-9;
    add_waited(out, session.submit(usual_feature_request(), options));
    EXPECT_EQ(out.numbers.at(0), AUGUR_ERROR_CANCELLED);
  });
}

TEST(CFeatures, TicketCancel) {
  expect_same(feature_ticket_cancel, [](Outcome& out) {
    Engine engine(usual_feature_options());
    Session session(engine);
    Request request = usual_feature_request();
    request.max_tokens = -1;
    request.ignore_eos = true;
    Ticket ticket = session.submit(request);
    ticket.cancel();
    out.add(to_string(ticket.wait().finish_reason));
  });
}

TEST(CFeatures, SessionCallbacks) {
  expect_same(feature_session_callbacks, [](Outcome& out) {
    Engine engine(usual_feature_options());
    Session session(engine);
    Request request = usual_feature_request();
    request.grammar =
        Grammar{.kind = GrammarKind::JsonSchema,
                .text = R"({"type": "array", "items": {"enum": [1, 22]}, "maxItems": 3, "format": "email"})",
                .field = "grammar"};
    SubmitOptions options;
    options.on_warnings = [&](const std::vector<std::string>& warnings) {
      for (const std::string& warning : warnings) out.add(warning);
    };
    options.on_token = [&](const TokenEvent& event) {
      out.add(event.token);
      return true;
    };
    options.on_result = [&](const Result& result) {
      out.add(0.0);
      out.add(to_string(result.finish_reason));
      out.add(result);
    };
    const Ticket ticket = session.submit(request, options);
    ticket.wait();
    std::string lines;
    for (const std::string& warning : ticket.warnings()) lines += warning + "\n";
    out.add(lines);
  });
}

void add_cached(Outcome& out, Session& session, const char* salt, const char* tenant) {
  Request request = usual_feature_request();
  request.prompt.clear();
  for (int i = 0; i < 200; ++i) request.prompt_tokens.push_back(300 + i);
  request.cache_salt = salt;
  SubmitOptions options;
  options.tenant = tenant;
  const Result result = session.submit(request, options).wait();
  out.add(static_cast<double>(result.cached_tokens));
  out.add(result);
}

TEST(CFeatures, KeptTexts) {
  expect_same(feature_kept_texts, [](Outcome& out) {
    Engine engine(usual_feature_options());
    Session session(engine);
    add_cached(out, session, "", "");
    add_cached(out, session, "", "");
    add_cached(out, session, "salt", "");
    add_cached(out, session, "salt", "tenant");
    add_cached(out, session, "salt", "tenant");
    EXPECT_GT(out.numbers[1], 0);
    EXPECT_EQ(out.numbers[3], 0);
  });
}

TEST(CFeatures, TextFiles) {
  expect_same(feature_text_files, [](Outcome& out) {
    Engine engine(usual_feature_options());
    Session session(engine);
    const TextOwner owner = {.tenant = "tenant", .salt = "salt"};
    std::vector<TokenId> tokens;
    for (int i = 0; i < 200; ++i) tokens.push_back(300 + i);
    const std::string path = (out.folder / "text").string();
    const auto after = [&](const std::function<void(Session::TextFileCallback)>& begin) {
      std::promise<TextFile> done;
      begin([&](const TextFile& file) { done.set_value(file); });
      const TextFile file = awaited(done.get_future());
      out.add(static_cast<double>(file.tokens));
      out.add(static_cast<double>(file.bytes));
      out.add(file.error);
    };
    add_cached(out, session, "salt", "tenant");
    after([&](auto done) { session.save_text(tokens, path, done, owner); });
    after([&](auto done) { session.forget_text(tokens, done, owner); });
    add_cached(out, session, "salt", "tenant");
    session.forget_text(
        tokens, [](const TextFile&) {}, owner);
    after([&](auto done) { session.load_text(path, done, owner); });
    add_cached(out, session, "salt", "tenant");
    after([&](auto done) { session.load_text("/no/such/text", done); });
    EXPECT_GT(out.numbers.at(out.numbers.size() - 3), 0) << "is read again";
  });
}

TEST(CFeatures, SessionLoad) {
  expect_same(feature_session_load, [](Outcome& out) {
    Engine engine(usual_feature_options());
    SessionOptions options;
    options.memory = 64 << 20;
    options.cache_bytes = 8 << 20;
    Session session(engine, options);
    add_waited(out, session.submit(usual_feature_request()));
    std::promise<void> pinged;
    session.ping([&] { pinged.set_value(); });
    awaited(pinged.get_future());
    const SessionLoad load = session.load();
    EXPECT_GT(load.drafted_tokens, 0);
    for (const std::int64_t number :
         {static_cast<std::int64_t>(load.running), static_cast<std::int64_t>(load.waiting), load.steps,
          load.preemptions, load.memory, load.memory_in_use, load.memory_running,
          std::int64_t{load.page_tokens}, load.page_bytes, std::int64_t{load.keeps_texts},
          load.cache_bytes_in_use, load.prompt_tokens, load.cached_tokens, load.drafted_tokens,
          load.accepted_tokens})
      out.add(static_cast<double>(number));
  });
}

TEST(CFeatures, Drain) {
  expect_same(feature_drain, [](Outcome& out) {
    Engine engine(usual_feature_options());
    Session session(engine);
    add_waited(out, session.submit(usual_feature_request()));
    out.add(static_cast<double>(session.drain(1e12)));
    out.add_failure([&] { session.submit(usual_feature_request()); });
  });
}

TEST(CFeatures, DraftLimits) {
  expect_same(feature_draft_limits, [](Outcome& out) {
    Engine engine(usual_feature_options());
    SessionOptions options;
    options.drafts.depth = 5;
    Session session(engine, options);
    Request request = usual_feature_request();
    for (const char* plan : {"draft:topk=2,depth=9,size=20", "draft:topk=2,depth=5,size=20"}) {
      request.speculation = SpeculationPlan::parse(plan);
      add_waited(out, session.submit(request));
    }
  });
}

}  // namespace
