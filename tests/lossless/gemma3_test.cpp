// The promise on Gemma 3 270M, with the early exit that is shipped for it, over its whole vocabulary of
// 262,144 tokens and over the draft vocabularies in the folder.
#include "support/gemma3.h"

#include <gtest/gtest.h>

#include "augur/engine.h"

namespace augur {
namespace {

using testing_support::gemma3_path;

std::vector<Request> requests() {
  std::vector<Request> out;
  for (const char* prompt :
       {"The capital of France is", "def reverse(items):\n", "Natalia has twelve apples. She gives away"}) {
    for (const double temperature : {0.0, 0.8}) {
      Request request;
      request.prompt = prompt;
      request.max_tokens = 32;
      request.sampling.temperature = temperature;
      request.sampling.seed = 1 + out.size();
      out.push_back(request);
    }
  }
  return out;
}

class LosslessGemma3 : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { AUGUR_NEED_GEMMA3(); }
};

TEST_P(LosslessGemma3, ShippedPartsWriteWhatPlainDecodingWrites) {
  EngineOptions options;
  options.model = gemma3_path().string();
  options.draft_model =
      (std::filesystem::path(AUGUR_SOURCE_DIR) / "models" / "gemma-3-270m-early-exit").string();
  options.context = 256;
  options.speculation.drafters = {"none"};
  options.speculation.draft_vocabulary = GetParam();
  Engine engine(options);
  std::vector<Request> all = requests();
  std::vector<std::vector<TokenId>> plain(all.size());
  engine.generate_many(all, 1, [&](std::size_t i, Result result) { plain[i] = std::move(result.tokens); });
  for (const char* plan :
       {"layerskip:n-max=3", "layerskip:topk=4,depth=3,size=16", "layerskip:policy=auto"}) {
    for (Request& request : all) request.speculation = SpeculationPlan::parse(plan);
    for (const int parallel : {1, 8}) {
      std::int64_t tokens = 0, rounds = 0;
      engine.generate_many(all, parallel, [&](std::size_t i, const Result& result) {
        EXPECT_EQ(result.tokens, plain[i]) << plan << ", request " << i << " " << result.error;
        tokens += std::ssize(result.tokens);
        rounds += result.speculation.calls;
      });
      if (std::string(plan) == "layerskip:policy=auto") continue;  // it decides by the clock
      EXPECT_GT(static_cast<double>(tokens), 1.1 * static_cast<double>(rounds)) << plan;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, LosslessGemma3,
                         testing::Values("full", "frspec:16384", "pafr:16384", "hot:16384", "dynaspec"),
                         [](const auto& test) { return test.param.substr(0, test.param.find(':')); });

}  // namespace
}  // namespace augur
