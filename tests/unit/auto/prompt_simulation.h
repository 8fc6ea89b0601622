#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cost/cost.h"
#include "policy/auto/choose.h"
#include "policy/policy.h"

namespace augur::simulation {

/// What everything takes on one machine, as a costs file of it says (tests/golden/costs).
struct Prices {
  CostModel costs;
  /// Of a forward, what its rows' logits take: a prompt's rows have none.
  double logits_share = 0.2;
};
/// Of SmolLM2-135M-Instruct and drafters beside it.
Prices measured_prices();

/// Requests that arrive at once, answered by the real round and step accounting: prompts are read 256 rows a
/// step beside the trees of those that have been read, and a drafter has to catch up with them.
struct PromptWorld {
  std::string drafter = "draft";  ///< whose costs are in the prices
  double right = 0.6;             ///< chance that its likeliest candidate is right, which it knows
  double claimed = -1;            ///< what it believes it to be; < 0: that
  int prompt = 100;
  int answer = 64;
  int sequences = 1;
  double noise = 0.03;  ///< relative spread of single times
  std::uint64_t seed = 1;
};

/// Makes the policy of a sequence; null: `auto`.
using Shape = std::function<std::unique_ptr<TreePolicy>()>;

struct Answers {
  double ms = 0;        ///< from the requests to the last token of all
  double first_ms = 0;  ///< to the first token, mean over the requests
  double drafted = 0;   ///< nodes
};
/// In a fresh process: nothing is known but the prices.
Answers answer(const PromptWorld& world, const Prices& prices, const Shape& shape);
/// Mean over `seeds` processes.
Answers answer(PromptWorld world, const Prices& prices, const Shape& shape, int seeds);
/// With `auto` that has answered other requests before.
Answers answer(const PromptWorld& world, const Prices& prices, const std::shared_ptr<Chooser>& chooser);

}  // namespace augur::simulation
