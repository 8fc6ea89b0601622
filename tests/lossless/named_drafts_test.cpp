// Several draft models and heads in one engine, each named by its requests, all in one batch: the tokens are
// those of plain decoding.
#include <gtest/gtest.h>

#include <algorithm>

#include "augur/session.h"
#include "support/quantised_models.h"
#include "support/stories_engine.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

/// One that is always right, one that nearly is, and one that is not.
std::vector<EngineOptions::NamedDraftModel> draft_models(const std::filesystem::path& folder) {
  std::filesystem::create_directory(folder / "random");
  testing_support::write_random_model(folder / "random");
  return {{"self", testing_support::stories_path().string()},
          {"q4.1", testing_support::write_quantised_stories(folder, DType::Q4_1).string()},
          {"random", (folder / "random").string()}};
}

TEST(NamedDrafts, OneBatchHasAnyOfThem) {
  EngineOptions options = testing_support::stories_engine_options();
  const testing_support::TemporaryFolder folder;
  options.draft_models = draft_models(folder.path());
  options.cost_cache = "none";
  const std::unique_ptr<Engine> on_device = testing_support::test_engine(options);
  Engine& engine = *on_device;
  const std::vector<std::string> loaded = engine.drafters();
  const char* const prompts[] = {"Once upon a time", "Lily and Tom went to the park.", "One day,"};
  const char* const shapes[] = {":policy=eagle2,topk=3", ":n-max=3", ",ngram", ""};
  std::vector<Request> requests;
  std::vector<std::vector<TokenId>> alone;
  std::size_t number = 0;
  for (const EngineOptions::NamedDraftModel& model : options.draft_models) {
    EXPECT_NE(std::find(loaded.begin(), loaded.end(), "@" + model.name), loaded.end());
    for (const char* shape : shapes) {
      Request request;
      request.prompt = prompts[number % 3];
      request.max_tokens = 24;
      if (number % 2 == 1) request.sampling = {.temperature = 0.9, .seed = number};
      alone.push_back(engine.generate(request).tokens);
      request.speculation = SpeculationPlan::parse("@" + model.name + shape);
      requests.push_back(std::move(request));
      ++number;
    }
  }
  Session session(engine, {.parallel = 8});
  std::vector<Ticket> tickets;
  for (const Request& request : requests) tickets.push_back(session.submit(request));
  std::int64_t accepted = 0;
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    const Result result = tickets[i].wait();
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(result.tokens, alone[i]) << to_string(*requests[i].speculation);
    EXPECT_TRUE(result.speculation.type.find('@') != std::string::npos) << result.speculation.type;
    accepted += result.speculation.accepted_tokens;
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace augur
