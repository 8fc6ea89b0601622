// Coupled drafting changes how often drafts are accepted. (That it never changes what is written is tested
// with every drafter: drafters_test.cpp.)
#include <gtest/gtest.h>

#include "support/generation.h"
#include "support/stories_source.h"

namespace augur {
namespace {

using testing_support::generate;
using testing_support::GenerateOptions;
using testing_support::one;
using testing_support::Stories;
using testing_support::TemporaryFolder;

class CoupledModel : public testing::Test {
 protected:
  CoupledModel() { testing_support::write_disturbed_stories(folder_.path(), 0.15f); }

  std::unique_ptr<DrafterModel> load(const std::filesystem::path& path) {
    head_ = std::make_unique<Checkpoint>(Checkpoint::open(path));
    return find_drafter_type("draft").load(testing_support::stories_source(stories_, head_.get()));
  }

  Stories stories_;
  TemporaryFolder folder_;
  std::unique_ptr<Checkpoint> head_;
  std::vector<std::vector<TokenId>> prompts_ = {
      stories_.prompt("Once upon a time"), stories_.prompt("Lily and Tom went to the park. Tom saw a big"),
      stories_.prompt("One day,"), stories_.prompt("The end. The end.")};
};

TEST_F(CoupledModel, IsAcceptedMoreOften) {
  const auto accepted = [&](const DrafterModel& drafters, bool tree, bool coupling, float temperature) {
    GenerateOptions options{.sampling = {.temperature = temperature, .seed = 3}, .tokens = 150};
    options.coupling = coupling;
    options.speculators = [&] {
      std::unique_ptr<TreePolicy> shape;
      if (tree) {
        shape = std::make_unique<Eagle2Policy>(Eagle2Policy::Options{4, 4, 16});
      } else {
        shape = std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 4});
      }
      return one(drafters.make({.context = 512}), std::move(shape));
    };
    return generate(*stories_.model, prompts_, options).total.mean_accepted_length;
  };
  const auto disturbed = load(folder_.path());
  for (const bool tree : {false, true}) {
    const double uncoupled = accepted(*disturbed, tree, false, 1.0f);
    EXPECT_GT(accepted(*disturbed, tree, true, 1.0f), 1.1 * uncoupled) << (tree ? "tree" : "chain");
  }
  // Who drafts with the target itself knows nearly every draw (all of them, were it not for the sharpness
  // that suits lesser drafters): 5 tokens a call are the most there can be.
  const auto same = load(testing_support::stories_path());
  EXPECT_LT(accepted(*same, false, false, 1.0f), 3.5);
  EXPECT_GT(accepted(*same, false, true, 1.0f), 4.0);
  EXPECT_GT(accepted(*same, true, true, 1.0f), 4.5);
}

}  // namespace
}  // namespace augur
