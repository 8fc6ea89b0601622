#include "vocab/vocabulary_choice.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "vocab/hot_shortlist.h"

namespace augur {
namespace {

/// Every id of `always` among the first `size`: those that are not take the places of the rarest.
void force_in(std::vector<TokenId>& tokens, std::int64_t size, std::span<const TokenId> always) {
  auto end = tokens.begin() + size;
  for (const TokenId token : always) {
    if (std::find(tokens.begin(), end, token) != end) continue;
    auto place = end - 1;
    while (place != tokens.begin() && std::find(always.begin(), always.end(), *place) != always.end())
      --place;
    const auto later = std::find(end, tokens.end(), token);
    if (later != tokens.end()) {
      std::iter_swap(place, later);
    } else {
      *place = token;
    }
  }
}

}  // namespace

VocabularyChoice::VocabularyChoice(const VocabularySpec& spec, const Fingerprint& target,
                                   std::span<const TokenId> always, std::int64_t target_bytes)
    : spec_(spec), vocab_(target.vocab), always_(always.begin(), always.end()), target_bytes_(target_bytes) {
  if (full() || spec.kind == VocabularySpec::Kind::Auto) return;
  if (spec.kind == VocabularySpec::Kind::Clusters) {
    clusters_ = ClusterPart::read(spec.path, target);
    if (spec.first == 0) return;
    if (const std::int64_t most = std::max(spec.first, spec.second); most > clusters_->clusters) {
      throw Error("{}: {} clusters were asked for, there are {}", clusters_->file, most, clusters_->clusters);
    }
    clusters_->budget = {spec.first, spec.second, spec.position_aware};
    return;
  }
  order_ = read_token_order(spec.path, target.vocab);
  const std::int64_t listed = std::ssize(order_->tokens);
  size_ = spec.size > 0 ? spec.size : order_->complete ? quarter_of(target.vocab) : listed;
  if (size_ > listed) {
    throw Error("{}: {} tokens were asked for, it lists {}", order_->file, size_, listed);
  }
  force_in(order_->tokens, size_, always);
}

VocabularyChoice::VocabularyChoice(ClusterPart clusters) : clusters_(std::move(clusters)) {
  spec_.kind = VocabularySpec::Kind::Clusters;
}

VocabularyChoice::VocabularyChoice(TokenOrder order, std::int64_t size, bool position_aware)
    : order_(std::move(order)), size_(size) {
  spec_.kind = position_aware ? VocabularySpec::Kind::PositionAware : VocabularySpec::Kind::Frequent;
}

/// The frequent quarter if a round of a usual draft yields more tokens for the bytes that it reads so. A
/// token that the list lacks is a draft that fails; what a drafter reads beside its head is the same with and
/// without the list.
std::unique_ptr<Shortlist> VocabularyChoice::make_automatic(const HeadWeights& weights) const {
  constexpr int kLevels = 4;
  constexpr double kAccepted = 0.7;
  if (!weights.target_ids.empty()) return nullptr;
  TokenOrder order = read_token_order(spec_.path, vocab_);
  if (!order.complete || order.quarter_share <= 0) return nullptr;
  const auto yield = [&](double accepted, double head_bytes) {
    double tokens = 1;
    double reached = 1;
    for (int level = 0; level < kLevels; ++level) tokens += reached *= accepted;
    return tokens / (static_cast<double>(target_bytes_) + kLevels * head_bytes);
  };
  const std::int64_t size = quarter_of(vocab_);
  const auto head = static_cast<double>(weights.matrix->bytes());
  const double quarter = static_cast<double>(size) / static_cast<double>(weights.matrix->n());
  if (yield(kAccepted * order.quarter_share, quarter * head) <= yield(kAccepted, head)) return nullptr;
  force_in(order.tokens, size, always_);
  return make_frequent_shortlist(weights, order, size, false);
}

std::unique_ptr<Shortlist> VocabularyChoice::make(const HeadWeights& weights) const {
  switch (spec_.kind) {
    case VocabularySpec::Kind::Full:
      return nullptr;
    case VocabularySpec::Kind::Auto:
      return make_automatic(weights);
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
