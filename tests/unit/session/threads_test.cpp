// Who may call what beside whom (augur/engine.h, augur/session.h). The thread sanitizer is the judge.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "augur/session.h"
#include "support/templated_stories.h"

namespace augur {
namespace {

constexpr const char* kTemplate =
    "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content | trim }}\n{% endfor %}";

/// All that the const functions of an engine say.
std::string all_said(const Engine& engine, const Request& chat) {
  std::string said = engine.render_chat(chat) + engine.chat_template() + engine.info().fingerprint;
  for (const TokenId id : engine.prompt_tokens(chat))
    said += std::to_string(id) + engine.token_bytes(id) + ' ';
  said += engine.detokenize(engine.tokenize(" and Lily said"), true);
  for (const TokenId id : engine.tokenize_part(" to Tom")) said += std::to_string(id) + ' ';
  for (const std::string& name : engine.drafters()) said += name;
  for (const std::string& name : engine.speculation().drafters) said += name;
  if (const InfillTokens infill = engine.infill_tokens(); infill.prefix)
    said += std::to_string(*infill.prefix);
  return said;
}

class EngineThreads : public testing::Test {
 protected:
  /// Runs `work` while several threads ask for all that the engine says.
  void beside_questions(const std::function<void()>& work) {
    const std::string expected = all_said(engine(), chat_);
    std::atomic<bool> over = false;
    std::atomic<int> rounds = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        do {
          EXPECT_EQ(all_said(engine(), chat_), expected);
          ++rounds;
        } while (!over);
      });
    }
    work();
    over = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_GE(rounds, 3);
  }
  Engine& engine() const { return *stories_.engine; }
  static Request request() {
    Request request;
    request.prompt = "Lily and Tom went to the park.";
    request.max_tokens = 30;
    request.speculation = SpeculationPlan::parse("draft,ngram:policy=auto");
    return request;
  }

  const testing_support::TemplatedStories stories_{kTemplate, true};
  const Request chat_{
      .messages = {{.role = "user", .content = " Lily "}, {.role = "assistant", .content = "Tom"}}};
};

TEST_F(EngineThreads, AnyMayAskWhileOneGenerates) {
  beside_questions([&] {
    EXPECT_EQ(engine().generate(request()).tokens.size(), 30u);
    const std::vector<Request> requests(3, request());
    int results = 0;
    engine().generate_many(requests, 2, [&](std::size_t, const Result& result) {
      EXPECT_EQ(result.tokens.size(), 30u);
      EXPECT_FALSE(engine().tokenize(result.text).empty()) << "a callback may, too";
      ++results;
    });
    EXPECT_EQ(results, 3);
    engine().forget();
  });
}

TEST_F(EngineThreads, AnyMayAskWhileASessionRuns) {
  beside_questions([&] {
    Session session(engine(), {.parallel = 2});
    std::vector<std::thread> clients;
    for (int i = 0; i < 3; ++i) {
      clients.emplace_back([&] {
        const Ticket ticket = session.submit(request());
        EXPECT_GE(session.load().memory, 0);
        EXPECT_EQ(ticket.wait().tokens.size(), 30u);
      });
    }
    for (std::thread& client : clients) client.join();
  });
}

}  // namespace
}  // namespace augur
