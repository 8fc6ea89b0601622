// Parts of policies: C2T's classifier, HeteroSpec's bins, acceptance heads, fixed trees (which lie in one
// JSON file).
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "attempt.h"
#include "part_folder.h"
#include "policy/acceptance_head.h"
#include "policy/c2t_classifier.h"
#include "policy/hetero_bins.h"
#include "policy/static_tree_policy.h"
#include "tree/draft_tree.h"
#include "tree/tree_shapes.h"

namespace {

/// What a part says of a node must be a probability, whatever its weights are.
void require_probability(double p) {
  if (!(p >= 0 && p <= 1)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using augur::fuzz::attempt;
  const std::filesystem::path& folder = augur::fuzz::write_part(data, size);
  const augur::Fingerprint target{.family = "llama", .hidden = 64, .layers = 4, .vocab = 32, .digest = "0"};
  attempt([&] {
    std::string warning;
    const auto classifier = augur::C2tClassifier::read(folder, &target, &warning);
    require_probability(classifier.confidence({.joint = 0, .entropy = 2, .depth = 3}));
    require_probability(classifier.confidence({.joint = 1, .entropy = 0, .depth = 1}));
  });
  attempt([&] {
    std::string warning;
    const auto bins = augur::HeteroBins::read(folder, &target, &warning);
    for (const double phi : {-1.0, 0.0, 3.0, 1e9}) {
      if (bins.bin(phi) < 0 || bins.bin(phi) >= bins.count()) std::abort();
    }
    if (bins.sure < 0 || bins.sure > bins.count()) std::abort();
  });
  attempt([&] {
    static augur::Backend backend(1);
    augur::AcceptanceHead head(folder, &target, backend);
    const std::vector<float> state(head.width(), 0.5f);
    augur::DraftTree tree;
    const std::int32_t node = tree.add(augur::DraftTree::kRoot, 1, -1.0f, 1);
    tree.set_entropy(augur::DraftTree::kRoot, 1.0f);
    std::copy(state.begin(), state.end(), tree.make_hidden(node, state.size()).begin());
    double accepted = 0;
    head.probabilities(tree, {&node, 1}, {&accepted, 1});
    require_probability(accepted);
  });
  attempt([&] {
    const auto paths = augur::load_tree_paths((folder / "config.json").string());
    const augur::StaticTreePolicy policy(paths);
    if (policy.nodes() < 1) std::abort();
  });
  return 0;
}
