#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernels/backend.h"
#include "lab/vocabulary/matrix_product.h"
#include "vocab/cluster_router.h"

namespace augur {

/// Contexts of a drafter, for a router to learn from: what it will read, and
/// the drafter's best tokens.
struct RouterExamples {
  Matrix inputs;                ///< [contexts, inputs of the router]
  std::vector<int> steps;       ///< of the draft, by context
  std::int64_t top = 0;         ///< tokens kept of each context
  std::vector<TokenId> tokens;  ///< [contexts, top] target ids, best first
  std::vector<float> probs;     ///< the same: the drafter's

  std::int64_t size() const { return inputs.rows; }
};

/// What the router is taught.
enum class RouterLoss {
  Top,   ///< the paper's: each cluster for itself, whether it holds one of the
         ///< `top` tokens (binary)
  Mass,  ///< how the drafter's probability is shared out over the clusters
         ///< (softmax)
};

struct RouterTraining {
  std::int64_t hidden = 256;  ///< of the router
  RouterLoss loss = RouterLoss::Mass;
  double epochs = 6;
  std::int64_t batch = 512;
  float rate = 2e-3f;  ///< Adam's, falling to zero along a half cosine
  std::uint64_t seed = 1;
};

/// Learns part.fc1_* and part.fc2_*, whose cluster_of, clusters, input and
/// hidden are set, from examples [first, end). `always`: clusters that the
/// router is to take whatever it reads (it gets a bias that no score reaches).
/// `progress(fraction, mean loss)`; false ends the training early, with what
/// was learned so far.
void train_router(Backend& backend, const RouterExamples& examples, Range which,
                  std::span<const std::int32_t> always, const RouterTraining& options, ClusterPart& part,
                  const std::function<bool(double, double)>& progress = {});

/// What a router's choice holds, on average over contexts.
struct RouterQuality {
  double mass = 0;         ///< of the drafter's probability, among the tokens kept of a context
  double oracle_mass = 0;  ///< with the clusters that hold most of it
  double best = 0;         ///< contexts whose best token is there
  double tokens = 0;       ///< in the clusters chosen
};
/// On examples `which`, with so many clusters for each context.
RouterQuality router_quality(Backend& backend, const RouterExamples& examples, Range which,
                             const ClusterPart& part, const ClusterBudget& budget);

}  // namespace augur
