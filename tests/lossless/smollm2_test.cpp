// The promise, on SmolLM2-135M-Instruct with its draft model. Skipped where the model has not been fetched
// (scripts/get_model.sh).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "augur/engine.h"

namespace augur {
namespace {

std::filesystem::path model_file() {
  const char* cache = std::getenv("AUGUR_MODEL_CACHE");
  const char* home = std::getenv("HOME");
  const std::filesystem::path folder =
      cache != nullptr ? std::filesystem::path(cache)
                       : std::filesystem::path(home != nullptr ? home : ".") / ".cache" / "augur" / "models";
  return folder / "SmolLM2-135M-Instruct.Q4_1.gguf";
}

TEST(LosslessSmolLM2, EveryDrafterWritesWhatPlainDecodingWrites) {
  if (!std::filesystem::exists(model_file())) {
    GTEST_SKIP() << model_file() << " is not there: run scripts/get_model.sh";
  }
  EngineOptions options;
  options.model = model_file().string();
  options.draft_model = std::string(AUGUR_SOURCE_DIR) + "/models/smollm2-draft-11m";
  options.context = 512;
  options.speculation.drafters = {"none"};
  Engine engine(options);

  std::vector<Request> requests;
  for (const char* question :
       {"What is the capital of France? Answer in one sentence, then name its largest river.",
        "Write a Python function that reverses a list.", "Count from one to twenty in words."}) {
    for (const double temperature : {0.0, 0.8}) {
      Request request;
      request.messages = {{"user", question}};
      request.max_tokens = 48;
      request.sampling.temperature = temperature;
      if (temperature > 0) request.sampling.top_p = 0.95;
      request.sampling.seed = 1 + requests.size();
      requests.push_back(request);
    }
  }
  std::vector<Result> plain(requests.size());
  engine.generate_many(requests, 4, [&](std::size_t i, Result result) { plain[i] = std::move(result); });

  struct Case {
    const char* name;
    std::vector<std::string> types;
    int topk;
  };
  for (const Case& c :
       {Case{"ngram", {"ngram"}, 1}, Case{"chain", {"draft"}, 1}, Case{"tree", {"draft"}, 4}}) {
    std::int64_t accepted = 0;
    for (Request& request : requests) {
      request.speculation = SpeculationPlan{.drafters = c.types, .tree_topk = c.topk};
    }
    for (const int parallel : {1, 4}) {
      engine.generate_many(requests, parallel, [&](std::size_t i, const Result& result) {
        EXPECT_EQ(result.tokens, plain[i].tokens)
            << c.name << ", request " << i << ", " << parallel << " at once";
        EXPECT_EQ(result.text, plain[i].text);
        accepted += result.speculation.accepted_tokens;
      });
    }
    EXPECT_GT(accepted, 0) << c.name;
  }
}

}  // namespace
}  // namespace augur
