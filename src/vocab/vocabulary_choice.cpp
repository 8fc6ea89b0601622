#include "vocab/vocabulary_choice.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "vocab/automatic_shortlist.h"
#include "vocab/hot_shortlist.h"

namespace augur {

VocabularyChoice::VocabularyChoice(const VocabularySpec& spec, const Fingerprint& target,
                                   std::span<const TokenId> always, std::int64_t target_bytes)
    : spec_(spec) {
  if (full()) return;
  if (spec.kind == VocabularySpec::Kind::Auto) {
    automatic_ = {spec.path, target, {always.begin(), always.end()}, target_bytes};
    return;
  }
  if (spec.kind == VocabularySpec::Kind::Clusters) {
    clusters_ = ClusterPart::read(spec.path, target);
    if (spec.first == 0) return;
    if (const std::int64_t most = std::max(spec.first, spec.second); most > clusters_->clusters) {
      throw Error(refused("draft_vocabulary"), "{}: {} clusters were asked for, there are {}",
                  clusters_->file, most, clusters_->clusters);
    }
    clusters_->budget.first = spec.first;
    clusters_->budget.second = spec.second;
    clusters_->budget.position_aware = spec.position_aware;
    clusters_->budget.floored = spec.floored;
    return;
  }
  order_ = read_token_order(spec.path, target.vocab);
  const std::int64_t listed = std::ssize(order_->tokens);
  size_ = spec.size > 0 ? spec.size : order_->complete ? quarter_of(target.vocab) : listed;
  if (size_ > listed) {
    throw Error(refused("draft_vocabulary"), "{}: {} tokens were asked for, it lists {}", order_->file, size_,
                listed);
  }
  order_->force_in(size_, always);
}

VocabularyChoice::VocabularyChoice(ClusterPart clusters) : clusters_(std::move(clusters)) {
  spec_.kind = VocabularySpec::Kind::Clusters;
}

VocabularyChoice::VocabularyChoice(TokenOrder order, std::int64_t size, bool position_aware)
    : order_(std::move(order)), size_(size) {
  spec_.kind = position_aware ? VocabularySpec::Kind::PositionAware : VocabularySpec::Kind::Frequent;
}

std::string VocabularyChoice::name() const {
  if (full()) return {};
  VocabularySpec spec = spec_;
  std::error_code ignored;
  spec.path = std::filesystem::weakly_canonical(spec.path, ignored).string();
  return to_string(spec);
}

std::unique_ptr<Shortlist> VocabularyChoice::make(const HeadWeights& weights) const {
  switch (spec_.kind) {
    case VocabularySpec::Kind::Full:
      return nullptr;
    case VocabularySpec::Kind::Auto:
      return make_automatic_shortlist(weights, automatic_);
    case VocabularySpec::Kind::Frequent:
      return make_frequent_shortlist(weights, *order_, size_, false);
    case VocabularySpec::Kind::PositionAware:
      return make_frequent_shortlist(weights, *order_, size_, true);
    case VocabularySpec::Kind::Hot:
      return make_hot_shortlist(weights, *order_, size_);
    case VocabularySpec::Kind::Clusters:
      return make_cluster_shortlist(weights, *clusters_);
  }
  return nullptr;
}

}  // namespace augur
