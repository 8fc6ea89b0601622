// A hybrid that was trained from text with its own layer that drafts, models/stories-hybrid: what the layer
// proposes of texts that it has not learnt is accepted, trees more than chains, and no token is another one.
#include <gtest/gtest.h>

#include "model/quantize_model.h"
#include "support/stories_engine.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

std::filesystem::path hybrid_path() {
  return std::filesystem::path(AUGUR_SOURCE_DIR) / "models" / "stories-hybrid";
}

/// Openings of which none is among those that it was trained on (scripts/train_tiny_hybrid.py).
std::vector<Request> requests(double temperature) {
  std::vector<Request> all;
  for (const char* prompt :
       {"Zoe and Oscar found a key under the bed.", "The rain would not stop, so grandma made some soup.",
        "A green dragon lived near the school.", "Nora wanted to build a boat out of paper.",
        "\"Where is my hat?\" asked the farmer.", "On the last day of summer, the twins went fishing."}) {
    Request request;
    request.prompt = prompt;
    request.max_tokens = 96;
    request.ignore_eos = true;
    request.sampling.temperature = temperature;
    request.sampling.seed = 1 + all.size();
    all.push_back(request);
  }
  return all;
}

class TrainedHybrid : public testing::TestWithParam<double> {
 protected:
  void load(const std::filesystem::path& model) {
    EngineOptions options;
    options.model = model.string();
    options.threads = 2;
    options.cost_cache = "none";
    options.speculation = SpeculationPlan::parse("mtp:n-max=4");
    engine_ = testing_support::test_engine(options);
    plain_ = write("none").texts;
  }

  /// Tokens a call, where all texts are those of plain decoding.
  double accepted_length(const char* plan) const {
    const Written drafted = write(plan);
    EXPECT_EQ(drafted.texts, plain_) << plan;
    const auto calls = static_cast<double>(drafted.total.calls);
    return 1 + static_cast<double>(drafted.total.accepted_tokens) / calls;
  }

 private:
  struct Written {
    std::vector<std::string> texts;
    SpeculationStatistics total;
  };

  Written write(const char* plan) const {
    std::vector<Request> all = requests(GetParam());
    for (Request& request : all) request.speculation = SpeculationPlan::parse(plan);
    Written written{.texts = std::vector<std::string>(all.size()), .total = {}};
    engine_->generate_many(all, 3, [&](std::size_t i, const Result& result) {
      EXPECT_EQ(result.error, "");
      written.texts[i] = result.text;
      written.total.add(result.speculation);
    });
    return written;
  }

  std::unique_ptr<Engine> engine_;
  std::vector<std::string> plain_;
};

TEST_P(TrainedHybrid, AcceptsWhatItsOwnLayerDrafts) {
  load(hybrid_path());
  const double chain = accepted_length("mtp:n-max=4");
  const double tree = accepted_length("mtp:topk=4,depth=4,size=16");
  EXPECT_GT(chain, 1.5);
  EXPECT_GT(tree, chain);
  RecordProperty("chain", std::to_string(chain));
  RecordProperty("tree", std::to_string(tree));
}

TEST_P(TrainedHybrid, DoesSoQuantised) {
  const testing_support::TemporaryFolder folder;
  ThreadPool pool(2);
  quantize_model(pool, Checkpoint::open(hybrid_path()), folder.path() / "q.gguf", {.type = DType::Q8_0});
  load(folder.path() / "q.gguf");
  EXPECT_GT(accepted_length("mtp:n-max=4"), 1.5);
}

INSTANTIATE_TEST_SUITE_P(Temperatures, TrainedHybrid, testing::Values(0.0, 1.0), [](const auto& test) {
  return test.param == 0 ? std::string("greedy") : std::string("sampled");
});

}  // namespace
}  // namespace augur
