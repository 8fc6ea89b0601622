// `auto` behind prompts: the time from the request to the last token, the prompt's included.
#include "prompt_simulation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "policy/chain_policy.h"
#include "policy/eagle2_policy.h"

namespace augur::simulation {
namespace {

Shape chain(int length) {
  return [=] { return std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = length}); };
}

Shape tree(int top_k, int levels, int size) {
  return [=] { return std::make_unique<Eagle2Policy>(Eagle2Policy::Options{top_k, levels, size}); };
}

/// Fixed shapes, plain decoding first.
std::vector<Shape> fixed_shapes() {
  std::vector<Shape> shapes = {chain(0)};
  for (const int length : {1, 2, 3, 4, 6, 8}) shapes.push_back(chain(length));
  shapes.push_back(tree(2, 2, 5));
  shapes.push_back(tree(2, 3, 8));
  shapes.push_back(tree(4, 4, 16));
  return shapes;
}

TEST(PromptSimulation, AutoIsNearTheBestShapeThatPaysForTheSameCatchingUp) {
  const Prices prices = measured_prices();
  for (const char* drafter : {"draft", "eagle3"}) {
    for (const int prompt : {100, 2000, 7500}) {
      for (const int answered : {16, 64, 256}) {
        for (const int sequences : {1, 4, 16}) {
          const int seeds = std::max(6, 96 / sequences);
          const PromptWorld world{.drafter = drafter,
                                  .right = drafter[0] == 'd' ? 0.6 : 0.7,
                                  .prompt = prompt,
                                  .answer = answered,
                                  .sequences = sequences};
          const Answers found = answer(world, prices, {}, seeds);
          double plain = 0;
          double best = std::numeric_limits<double>::infinity();
          double plains_first = 0;
          int which = 0;
          const std::vector<Shape> shapes = fixed_shapes();
          for (std::size_t i = 0; i < shapes.size(); ++i) {
            const Answers fixed = answer(world, prices, shapes[i], seeds);
            if (i == 0) {
              plain = fixed.ms;
              plains_first = fixed.first_ms;
            }
            if (fixed.ms < best) which = static_cast<int>(i);
            best = std::min(best, fixed.ms);
          }
          const std::string what = fmt::format("{} behind {} tokens, {} each in {} sequences, {:.0f} drafted",
                                               drafter, prompt, answered, sequences, found.drafted);
          // Aimed at 0.98. One text behind 2,000 tokens of which it writes 16 wins 1.04 at best, four
          // texts 1.08 to 1.18, and finding out what is worth it takes some of that.
          const double bar = sequences == 1 ? (answered == 16 ? 0.97 : 0.98) : 0.95;
          if (which > 0) {
            EXPECT_GT(best / found.ms, bar) << what << ", shape " << which << " gains " << plain / best;
          }
          // Aimed at 0.99. Sixteen requests at once behind 100 tokens have nothing to win: plain decoding is
          // the best of all shapes. What is lost there, 2 to 6 steps of the batch, is looking at the drafter
          // with more texts than it takes. One text a round would reach 0.988, but alone it does not pay for
          // a level that the batch would share, and four requests fall to 0.912 of the best shape.
          const bool crowd = sequences == 16 && prompt == 100;
          EXPECT_GT(plain / found.ms, crowd ? 0.955 : 0.99) << what;
          if (prompt > 100) {
            EXPECT_LT(found.first_ms / plains_first, 1.05) << what;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace augur::simulation
