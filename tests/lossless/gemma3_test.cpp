// The promise on Gemma 3 270M, with the drafters that are shipped for it, over its whole vocabulary of
// 262,144 tokens and over the draft vocabularies in their folders.
#include "support/gemma3.h"

#include <gtest/gtest.h>

#include <tuple>

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

/// A folder of models/, its --spec-type, and a draft vocabulary.
using Shipped = std::tuple<const char*, const char*, const char*>;

class LosslessGemma3 : public testing::TestWithParam<Shipped> {
 protected:
  void SetUp() override { AUGUR_NEED_GEMMA3(); }
};

TEST_P(LosslessGemma3, ShippedPartsWriteWhatPlainDecodingWrites) {
  const auto& [folder, type, vocabulary] = GetParam();
  EngineOptions options;
  options.model = gemma3_path().string();
  options.draft_model = (std::filesystem::path(AUGUR_SOURCE_DIR) / "models" / folder).string();
  options.context = 256;
  options.speculation.drafters = {"none"};
  options.speculation.draft_vocabulary = vocabulary;
  Engine engine(options);
  std::vector<Request> all = requests();
  std::vector<std::vector<TokenId>> plain(all.size());
  engine.generate_many(all, 1, [&](std::size_t i, Result result) { plain[i] = std::move(result.tokens); });
  const std::string decided_by_the_clock = "policy=auto";
  for (const std::string& shape :
       {std::string("n-max=3"), std::string("topk=4,depth=3,size=16"), decided_by_the_clock}) {
    const std::string plan = type + (":" + shape);
    for (Request& request : all) request.speculation = SpeculationPlan::parse(plan);
    for (const int parallel : {1, 8}) {
      std::int64_t tokens = 0, rounds = 0;
      engine.generate_many(all, parallel, [&](std::size_t i, const Result& result) {
        EXPECT_EQ(result.tokens, plain[i]) << plan << ", request " << i << " " << result.error;
        tokens += std::ssize(result.tokens);
        rounds += result.speculation.calls;
      });
      if (shape == decided_by_the_clock) continue;
      EXPECT_GT(static_cast<double>(tokens), 1.1 * static_cast<double>(rounds)) << plan;
    }
  }
}

std::string name_of(const Shipped& shipped) {
  const std::string vocabulary = std::get<2>(shipped);
  return std::get<1>(shipped) + ("_" + vocabulary.substr(0, vocabulary.find(':')));
}

INSTANTIATE_TEST_SUITE_P(
    EarlyExit, LosslessGemma3,
    testing::Combine(testing::Values("gemma-3-270m-early-exit"), testing::Values("layerskip"),
                     testing::Values("full", "frspec:16384", "pafr:16384", "hot:16384", "dynaspec")),
    [](const auto& test) { return name_of(test.param); });
INSTANTIATE_TEST_SUITE_P(Mtp, LosslessGemma3,
                         testing::Combine(testing::Values("gemma-3-270m-mtp"), testing::Values("mtp"),
                                          testing::Values("full", "dynaspec")),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace augur
