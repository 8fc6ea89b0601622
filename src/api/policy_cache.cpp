#include "api/policy_cache.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace augur {
namespace {

/// What the general options stand for when no policy is named.
std::string policy_text(const SpeculationOptions& options) {
  if (!options.policy.empty()) return options.policy;
  if (!options.static_tree.empty()) return "static";
  const bool tree = options.tree_topk + options.tree_depth + options.tree_size > 0;
  return tree && options.tree_topk != 1 ? "eagle2" : "chain";
}

PolicyLimits limits_of(const SpeculationOptions& options) {
  PolicyLimits limits{.draft_max = options.draft_max,
                      .draft_min = options.draft_min,
                      .draft_p_min = options.draft_p_min,
                      .static_tree = options.static_tree};
  if (options.tree_topk > 0) limits.tree_topk = options.tree_topk;
  if (options.tree_depth > 0) limits.tree_depth = options.tree_depth;
  if (options.tree_size > 0) limits.tree_size = options.tree_size;
  return limits;
}

}  // namespace

PolicyCache::Found PolicyCache::get(const SpeculationOptions& options) {
  const std::string text = policy_text(options);
  const PolicyLimits limits = limits_of(options);
  std::vector<std::string> drafters = options.types;
  std::sort(drafters.begin(), drafters.end());
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.text == text && entry.limits == limits && entry.drafters == drafters;
  });
  const bool fresh = found == entries_.end();
  if (!fresh) {
    entries_.splice(entries_.begin(), entries_, found);
  } else {
    entries_.push_front(
        {text, limits, std::move(drafters), load_policy(text, limits, &target_, target_path_)});
    if (entries_.size() > kKept) entries_.pop_back();
  }
  return {entries_.front().model, fresh};
}

}  // namespace augur
