// Tokens that a model's generation_config.json suppresses are never drawn, whatever drafts.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/stories_engine.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing_support::stories_path;

class SuppressedTokens : public testing::Test {
 protected:
  /// The stories model, drafted for by the same without suppressed tokens.
  std::unique_ptr<Engine> engine(const std::vector<TokenId>& suppressed) {
    for (const char* name : {"config.json", "tokenizer.model", "model.safetensors"})
      std::filesystem::copy_file(stories_path() / name, folder_.path() / name,
                                 std::filesystem::copy_options::overwrite_existing);
    std::ofstream(folder_.path() / "generation_config.json")
        << nlohmann::json{{"suppress_tokens", suppressed}}.dump();
    EngineOptions options = testing_support::stories_engine_options(stories_path().string());
    options.model = folder_.path().string();
    return testing_support::test_engine(options);
  }
  static Result answer(Engine& engine, const char* plan, double temperature) {
    Request request;
    request.prompt = "Once upon a time";
    request.max_tokens = 60;
    request.sampling.temperature = temperature;
    request.sampling.seed = 5;
    request.speculation = SpeculationPlan::parse(plan);
    return engine.generate(request);
  }

  testing_support::TemporaryFolder folder_;
};

TEST_F(SuppressedTokens, AreNeverDrawn) {
  const std::unique_ptr<Engine> free = engine({});
  const std::vector<TokenId> usual = answer(*free, "none", 0).tokens;
  // Those that the text begins with otherwise.
  const std::vector<TokenId> suppressed(usual.begin(), usual.begin() + 6);
  const std::unique_ptr<Engine> engine = this->engine(suppressed);
  for (const double temperature : {0.0, 1.0}) {
    const Result plain = answer(*engine, "none", temperature);
    ASSERT_EQ(plain.tokens.size(), 60U);
    for (const TokenId token : plain.tokens)
      EXPECT_EQ(std::count(suppressed.begin(), suppressed.end(), token), 0) << token;
    for (const char* plan : {"draft:policy=eagle2", "ngram", "draft,ngram:policy=auto"})
      EXPECT_EQ(answer(*engine, plan, temperature).tokens, plain.tokens) << plan << " at " << temperature;
    if (temperature == 0.0) {
      EXPECT_EQ(answer(*engine, "draft:verify=rejection", temperature).tokens, plain.tokens);
    }
  }
}

}  // namespace
}  // namespace augur
