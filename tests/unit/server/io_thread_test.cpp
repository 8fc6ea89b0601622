// What takes long of a request is not done on the thread that serves all connections.
#include "base/io_thread.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/engine_access.h"
#include "grammar/compiler.h"
#include "server/endpoint.h"
#include "server/fields/body_parser.h"
#include "support/stories_engine.h"
#include "text/chat_template.h"

namespace augur {
namespace {

using IoThreadTest = testing_support::StoriesEngineTest;

TEST_F(IoThreadTest, RefusesWhatTakesLong) {
  const ChatTemplate chat("{{ messages[0].content }}");
  const auto parse = [] { parse_body("{}", {}); };
  const auto tokenise = [] { engine_->tokenize("Once"); };
  const auto fill = [&] { chat.render({{.role = "user", .content = "a"}}, true, {}, {}); };
  const auto compile = [] {
    EngineAccess::grammars(*engine_).compile({.kind = GrammarKind::Regex, .text = "a", .field = {}});
  };
  for (const bool serves : {false, true}) {
    std::unique_ptr<IoThread> here;
    if (serves) here = std::make_unique<IoThread>();
    const auto check = [&](const char* what, const auto& work) {
      SCOPED_TRACE(what);
      if (serves) {
        EXPECT_THROW(work(), std::logic_error);
      } else {
        EXPECT_NO_THROW(work());
      }
    };
    check("parsing", parse);
    check("tokenising", tokenise);
    check("templates", fill);
    if (have_grammars()) check("grammars", compile);
  }
}

/// An endpoint that takes a body works on it.
TEST(Endpoints, ThatTakeABodyRunOnWorkers) {
  for (const Endpoint& endpoint : endpoints()) {
    EXPECT_EQ(endpoint.runs, endpoint.method == "GET" ? Runs::AtOnce : Runs::OnWorker) << endpoint.path;
  }
}

}  // namespace
}  // namespace augur
