// Texts in files: what is restored gives the tokens of a text that is read, and what is damaged is an error.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "augur/session.h"
#include "base/arithmetic_law.h"
#include "support/eventually.h"
#include "support/stories_engine.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class KeptTextTest : public testing_support::StoriesEngineTest {
 protected:
  static TextFile save(Session& session, const std::vector<TokenId>& tokens, const std::string& path) {
    std::promise<TextFile> told;
    session.save_text(tokens, path, [&](const TextFile& file) { told.set_value(file); });
    return testing_support::awaited(told.get_future());
  }
  static TextFile load(Session& session, const std::string& path) {
    std::promise<TextFile> told;
    session.load_text(path, [&](const TextFile& file) { told.set_value(file); });
    return testing_support::awaited(told.get_future());
  }
  static std::int64_t forget(Session& session, const std::vector<TokenId>& tokens) {
    std::promise<TextFile> told;
    session.forget_text(tokens, [&](const TextFile& file) { told.set_value(file); });
    return testing_support::awaited(told.get_future()).tokens;
  }
  static Request first() {
    Request request;
    request.prompt = "Lily and Tom went to the park. Tom saw a big";
    request.max_tokens = 90;
    request.speculation = SpeculationPlan::parse("draft:policy=eagle2,topk=3");
    return request;
  }
  /// The request's text, prompt and answer.
  static std::vector<TokenId> text_of(const Request& request, const Result& result) {
    std::vector<TokenId> text = engine_->prompt_tokens(request);
    text.insert(text.end(), result.tokens.begin(), result.tokens.end());
    return text;
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  std::string path(const char* name) const { return (folder_.path() / name).string(); }

  const testing_support::TemporaryFolder folder_;
};

TEST_F(KeptTextTest, WhatIsRestoredGoesOnWithTheSameTokens) {
  std::vector<TokenId> text;
  TextFile saved;
  {
    Session session(*engine_);
    text = text_of(first(), session.submit(first()).wait());
    saved = save(session, text, path("a"));
    EXPECT_EQ(saved.error, "");
    EXPECT_GE(saved.tokens, std::ssize(text) - 1);
    EXPECT_EQ(saved.bytes, std::ssize(read(path("a"))));
    // A text that is not whole pages: nothing of others is in the file.
    EXPECT_NE(saved.tokens % 64, 0);
    save(session, text, path("b"));
    EXPECT_EQ(read(path("a")), read(path("b")));
  }
  for (const char* plan : {"none", "draft:policy=eagle2,topk=3", "draft,ngram", ""}) {
    Request next;
    next.prompt_tokens = text;
    next.prompt_tokens.push_back(410);
    next.max_tokens = 40;
    next.sampling = {.temperature = 0.8, .seed = 5};
    if (*plan != '\0') next.speculation = SpeculationPlan::parse(plan);
    const Result anew = engine_->generate(next);
    Session session(*engine_);
    const TextFile loaded = load(session, path("a"));
    EXPECT_EQ(loaded.error, "");
    EXPECT_EQ(loaded.tokens, saved.tokens);
    EXPECT_EQ(loaded.bytes, saved.bytes);
    const SessionLoad load = session.load();
    EXPECT_GT(load.cache_bytes_in_use, 0);
    EXPECT_GE(load.memory_in_use, load.cache_bytes_in_use) << "before any request has run";
    const Result result = session.submit(next).wait();
    EXPECT_EQ(result.tokens, anew.tokens) << plan;
    EXPECT_GE(result.cached_tokens, saved.tokens - 2) << plan << ": the drafter's rows are there, too";
    // `auto` drafts what is worth its time.
    if (std::string_view(plan).find("eagle2") != std::string_view::npos) {
      EXPECT_EQ(result.speculation.accepted_tokens, anew.speculation.accepted_tokens) << plan;
    }
  }
}

// A draft model reads nothing but tokens: where its rows are missing it runs them itself, and the target
// reads nothing that it knows.
TEST_F(KeptTextTest, ATextWithoutTheDraftModelsRowsIsGoneOnWith) {
  std::vector<TokenId> text;
  TextFile saved;
  {
    Session session(*engine_);
    Request plain = first();
    plain.speculation = SpeculationPlan::parse("none");
    text = text_of(plain, session.submit(plain).wait());
    saved = save(session, text, path("a"));
    EXPECT_EQ(saved.error, "");
  }
  for (const char* plan : {"draft:policy=eagle2,topk=3", "draft,ngram", ""}) {
    Request next;
    next.prompt_tokens = text;
    next.prompt_tokens.push_back(410);
    next.max_tokens = 40;
    if (*plan != '\0') next.speculation = SpeculationPlan::parse(plan);
    const Result anew = engine_->generate(next);
    Session session(*engine_);
    EXPECT_EQ(load(session, path("a")).tokens, saved.tokens);
    const Result result = session.submit(next).wait();
    EXPECT_EQ(result.tokens, anew.tokens) << plan;
    EXPECT_GE(result.cached_tokens, saved.tokens - 2) << plan;
    if (std::string_view(plan).find("eagle2") != std::string_view::npos) {
      EXPECT_EQ(result.speculation.accepted_tokens, anew.speculation.accepted_tokens) << plan;
    }
  }
}

TEST_F(KeptTextTest, WhatIsDamagedOrAnothersIsAnError) {
  Session session(*engine_);
  const std::vector<TokenId> text = text_of(first(), session.submit(first()).wait());
  ASSERT_EQ(save(session, text, path("a")).error, "");
  const std::string whole = read(path("a"));
  const auto damaged = [&](std::string bytes) {
    write(path("bad"), bytes);
    const TextFile file = load(session, path("bad"));
    EXPECT_EQ(file.tokens, 0);
    EXPECT_THAT(file.error, HasSubstr(path("bad")));
    return file.error;
  };
  EXPECT_THAT(damaged(""), HasSubstr("no saved text"));
  EXPECT_THAT(damaged("AUGURTXT"), HasSubstr("no saved text"));
  EXPECT_THAT(damaged(whole.substr(0, whole.size() - 1)), HasSubstr("bytes"));
  EXPECT_THAT(damaged(whole + "x"), HasSubstr("bytes"));
  for (std::size_t at = 0; at < whole.size(); at = at < 600 ? at + 7 : at + whole.size() / 40) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x80);
    EXPECT_NE(damaged(bytes), "") << at;
  }
  std::string two = whole;  // two flips that a weak hash would take for none
  two[whole.size() - 1] = static_cast<char>(two[whole.size() - 1] ^ 0x80);
  two[whole.size() - 9] = static_cast<char>(two[whole.size() - 9] ^ 0x80);
  EXPECT_THAT(damaged(two), HasSubstr("damaged"));
  const auto with = [&](std::size_t number, char value) {  // of the head, each 8 bytes
    std::string bytes = whole;
    bytes[8 + 8 * number] = value;
    return bytes;
  };
  EXPECT_THAT(damaged(with(0, 2)), AllOf(HasSubstr("format 2: expected 4"), Not(HasSubstr("\n"))));
  const bool blocks = engine_->info().law == kBlocksLaw;  // bf16 weights on AMX
  const std::string expected =
      fmt::format("expected law {} ({})", engine_->info().law, blocks ? "blocks" : "chain");
  EXPECT_THAT(
      damaged(with(1, kArithmeticLaw - 1)),
      AllOf(HasSubstr(fmt::format("law {}: {}", kArithmeticLaw - 1, expected)), Not(HasSubstr("\n"))));
  EXPECT_THAT(damaged(with(1, static_cast<char>(blocks ? kArithmeticLaw : kBlocksLaw))),
              HasSubstr(fmt::format("law {} ({}): {}", blocks ? kArithmeticLaw : kBlocksLaw,
                                    blocks ? "chain" : "blocks", expected)));
  EXPECT_THAT(load(session, path("nothing")).error, HasSubstr("nothing"));
  EXPECT_THAT(save(session, {1, 2, 3}, path("c")).error + save(session, {500, 3}, path("c")).error,
              HasSubstr("nothing is kept"));
  EXPECT_THAT(save(session, text, path("no/such/folder")).error, HasSubstr("no/such/folder"));

  EngineOptions other = testing_support::stories_engine_options();
  other.kv = KvFormat::F32;
  Engine another(other);
  const std::pair<SessionOptions, const char*> others[] = {
      {{}, "system_fingerprint"},
      {{.cache_bytes = 1000}, "kept texts may take 1000"},
      {{.cache_bytes = 0}, "keeps no texts"},
  };
  for (const auto& [session_options, problem] : others) {
    Session stranger(another, session_options);
    EXPECT_THAT(load(stranger, path("a")).error, HasSubstr(problem));
  }
}

/// Rotations of these models depend on the context that they are opened with: by the same `-c`, or another
/// one that rotates alike, a text's keys are the ones that a prompt would get.
TEST_F(KeptTextTest, ATextWhoseKeysAreRotatedOtherwiseIsRefused) {
  const nlohmann::json scalings[] = {
      {{"rope_type", "dynamic"}, {"factor", 4.0}},
      {{"rope_type", "longrope"},
       {"original_max_position_embeddings", 256},
       {"short_factor", {1.0, 1.0, 1.5, 2.0}},
       {"long_factor", {1.0, 2.0, 4.0, 8.0}}},
  };
  for (const nlohmann::json& scaling : scalings) {
    SCOPED_TRACE(scaling.dump());
    const testing_support::TemporaryFolder model;
    for (const char* file : {"model.safetensors", "tokenizer.model"}) {
      std::filesystem::copy_file(testing_support::stories_path() / file, model.path() / file);
    }
    nlohmann::json config =
        nlohmann::json::parse(std::ifstream(testing_support::stories_path() / "config.json"));
    const bool dynamic = scaling["rope_type"] == "dynamic";
    if (dynamic) config["max_position_embeddings"] = 256;
    config["rope_scaling"] = scaling;
    std::ofstream(model.path() / "config.json") << config;
    const auto opened = [&](std::int64_t context) {
      EngineOptions options = testing_support::stories_engine_options();
      options.model = model.path().string();
      options.context = context;
      return testing_support::test_engine(options);
    };
    const auto engine = opened(256);
    Request request = first();
    request.max_tokens = 20;
    request.speculation = SpeculationPlan::parse("none");
    std::vector<TokenId> text = engine->prompt_tokens(request);
    {
      Session session(*engine);
      const Result result = session.submit(request).wait();
      text.insert(text.end(), result.tokens.begin(), result.tokens.end());
      ASSERT_EQ(save(session, text, path("a")).error, "");
    }
    {
      const auto alike = opened(200);
      EXPECT_EQ(alike->info().fingerprint, engine->info().fingerprint);
      Session session(*alike);
      EXPECT_EQ(load(session, path("a")).error, "");
    }
    const auto other = opened(512);
    EXPECT_NE(other->info().fingerprint, engine->info().fingerprint);
    Session session(*other);
    const TextFile refused = load(session, path("a"));
    EXPECT_EQ(refused.tokens, 0);
    EXPECT_THAT(refused.error, AllOf(HasSubstr(engine->info().fingerprint),
                                     HasSubstr(other->info().fingerprint), HasSubstr("system_fingerprint")));
  }
}

TEST_F(KeptTextTest, WhatIsForgottenIsReadAgain) {
  Session session(*engine_);
  const std::vector<TokenId> text = text_of(first(), session.submit(first()).wait());
  Request next;
  next.prompt_tokens = text;
  next.max_tokens = 4;
  next.speculation = SpeculationPlan::parse("none");
  EXPECT_EQ(forget(session, {500, 501, 502}), 0);
  EXPECT_GE(forget(session, text), std::ssize(text) - 1);
  EXPECT_EQ(session.submit(next).wait().cached_tokens, 0);
  EXPECT_EQ(forget(session, {}), 0);
}

}  // namespace
}  // namespace augur
