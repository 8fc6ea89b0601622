#include "vocab/automatic_shortlist.h"

#include <optional>

#include "files/part_location.h"
#include "vocab/cluster_router.h"

namespace augur {
namespace {

/// Levels of a usual draft, and how often a token of the whole head is accepted.
constexpr int kLevels = 4;
constexpr double kAccepted = 0.7;
/// What the barriers of a routing cost, in bytes that a small machine reads meanwhile.
constexpr double kRoutingBytes = 1 << 20;

/// Tokens of a round for each byte that it reads. A token that a shortlist lacks is a draft that fails
/// (`kept`: the share that it has); what a drafter reads beside its head is the same with and without one.
double yield(double kept, double head_bytes, double target_bytes) {
  double tokens = 1;
  double reached = 1;
  for (int level = 0; level < kLevels; ++level) tokens += reached *= kAccepted * kept;
  return tokens / (target_bytes + kLevels * head_bytes);
}

std::optional<TokenOrder> frequent_part(const AutomaticVocabulary& automatic) {
  const std::filesystem::path folder = find_part(automatic.folder, "frspec");
  if (folder.empty()) return std::nullopt;
  TokenOrder order = read_token_order(folder, automatic.target.vocab);
  if (!order.complete || order.quarter_share <= 0) return std::nullopt;
  return order;
}

std::optional<ClusterPart> cluster_part(const HeadWeights& weights, const AutomaticVocabulary& automatic) {
  const std::filesystem::path folder = find_part(automatic.folder, "dynaspec");
  if (folder.empty()) return std::nullopt;
  std::optional<ClusterPart> part = ClusterPart::read_if_fits(folder, automatic.target);
  if (!part || part->best_token_share <= 0 || part->tokens <= 0) return std::nullopt;
  if (!cluster_obstacle(weights, *part).empty()) return std::nullopt;
  return part;
}

}  // namespace

std::unique_ptr<Shortlist> make_automatic_shortlist(const HeadWeights& weights,
                                                    const AutomaticVocabulary& automatic) {
  if (!weights.target_ids.empty()) return nullptr;
  const auto head = static_cast<double>(weights.matrix->bytes());
  const auto entries = static_cast<double>(weights.matrix->n());
  const auto target = static_cast<double>(automatic.target_bytes);
  std::optional<TokenOrder> order = frequent_part(automatic);
  const std::optional<ClusterPart> part = cluster_part(weights, automatic);
  const std::int64_t quarter = quarter_of(automatic.target.vocab);
  const double whole = yield(1, head, target);
  const double frequent =
      order ? yield(order->quarter_share, static_cast<double>(quarter) / entries * head, target) : 0;
  const double routed =
      part ? yield(part->best_token_share,
                   part->tokens / entries * head + static_cast<double>(part->router_bytes()) + kRoutingBytes,
                   target)
           : 0;
  if (routed > whole && routed > frequent) return make_cluster_shortlist(weights, *part);
  if (frequent <= whole) return nullptr;
  order->force_in(quarter, automatic.always);
  return make_frequent_shortlist(weights, *order, quarter, false);
}

}  // namespace augur
