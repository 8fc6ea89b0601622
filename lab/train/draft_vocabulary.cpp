#include "lab/train/draft_vocabulary.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "files/safetensors.h"

namespace augur {

DraftVocabulary::DraftVocabulary(std::int32_t target_size) : target_size_(target_size) {}

DraftVocabulary::DraftVocabulary(std::int32_t target_size, const std::vector<TokenId>& ids)
    : target_size_(target_size),
      ids_(torch::tensor(std::vector<std::int64_t>(ids.begin(), ids.end()), torch::kInt64)),
      mask_(torch::zeros({target_size}, torch::kBool)) {
  mask_.index_fill_(0, ids_, true);
}

DraftVocabulary DraftVocabulary::on(torch::Device device) const {
  DraftVocabulary there = *this;
  if (is_full()) return there;
  there.ids_ = ids_.to(device);
  there.mask_ = mask_.to(device);
  return there;
}

torch::Tensor DraftVocabulary::covers(const torch::Tensor& tokens) const {
  return is_full() ? torch::ones_like(tokens, torch::kBool) : mask_.index_select(0, tokens);
}

torch::Tensor DraftVocabulary::entries(const torch::Tensor& tokens) const {
  if (is_full()) return tokens;
  const torch::Tensor place = mask_.cumsum(0).sub_(1);  // of the last entry that is no larger
  return place.index_select(0, tokens).masked_fill_(covers(tokens).logical_not(), -1);
}

namespace {

/// The affine map that takes rows [n, h] nearest to `images` [n, g] (least squares, a little ridge): [h + 1,
/// g].
torch::Tensor affine_fit(const torch::Tensor& rows, const torch::Tensor& images) {
  constexpr double kRidge = 1e-4;
  const torch::Tensor gram = rows.t().mm(rows);
  const torch::Tensor ridge = torch::eye(gram.size(0), gram.options()) * (kRidge * gram.diagonal().mean());
  return torch::linalg_solve(gram + ridge, rows.t().mm(images), true);
}

torch::Tensor with_one(const torch::Tensor& rows) {
  return torch::cat({rows, torch::ones({rows.size(0), 1}, rows.options())}, 1);
}

}  // namespace

void DraftVocabulary::take_rows(torch::Tensor rows, const DraftVocabulary& theirs,
                                const torch::Tensor& their_rows) const {
  const DraftVocabulary other = theirs.on(rows.device());
  const torch::Tensor tokens = is_full() ? torch::arange(target_size_, rows.device()) : ids_;
  const torch::Tensor places = other.entries(tokens);
  const torch::Tensor both = places.ge(0).nonzero().flatten();
  if (both.numel() == 0) return;
  const torch::Tensor taken =
      their_rows.to(rows.device(), rows.scalar_type()).index_select(0, places.index_select(0, both));
  if (both.numel() < rows.size(0)) {
    const torch::Tensor wide = with_one(rows.to(torch::kFloat64));
    rows.copy_(wide.mm(affine_fit(wide.index_select(0, both), taken.to(torch::kFloat64))));
  }
  rows.index_copy_(0, both, taken);
}

NamedTensors DraftVocabulary::maps() const {
  if (is_full()) return {};
  return {{"d2t", ids_.cpu() - torch::arange(ids_.size(0))}, {"t2d", mask_.cpu()}};
}

DraftVocabulary stored_vocabulary(const std::filesystem::path& file, std::int32_t target_size) {
  const std::unique_ptr<WeightStore> store = open_safetensors(file);
  const StoredTensor* map = store->find("d2t");
  if (map == nullptr) return DraftVocabulary(target_size);
  const torch::Tensor offsets = to_torch(*map).flatten();
  std::vector<TokenId> ids;
  for (std::int64_t i = 0; i < offsets.size(0); ++i) {
    const std::int64_t id = i + offsets[i].item<std::int64_t>();
    if (id < 0 || id >= target_size || (!ids.empty() && id <= ids.back())) {
      throw Error("{}: tensor d2t: entry {} names token {}: expected ascending ids below {}", file.string(),
                  i, id, target_size);
    }
    ids.push_back(static_cast<TokenId>(id));
  }
  return {target_size, ids};
}

std::vector<double> expected_counts(const Dataset& data, std::int32_t vocabulary) {
  constexpr double kShift = 200;
  constexpr double kShareOfData = 0.25;
  constexpr double kMostTokens = 1 << 18;
  std::vector<double> counts(static_cast<std::size_t>(vocabulary));
  double seen = 0;
  for (std::int64_t i = 0; i < data.size(); ++i) {
    const Example example = data[i];
    for (std::size_t t = 0; t < example.tokens.size(); ++t) {
      if (example.learn[t] == 0) continue;
      ++counts[static_cast<std::size_t>(example.tokens[t])];
      ++seen;
    }
  }
  const auto zipf = [](std::size_t id) { return 1 / (static_cast<double>(id) + kShift); };
  double sum = 0;
  for (std::size_t id = 0; id < counts.size(); ++id) sum += zipf(id);
  const double weight = std::min(kShareOfData * seen, kMostTokens) / sum;
  for (std::size_t id = 0; id < counts.size(); ++id) counts[id] += weight * zipf(id);
  return counts;
}

std::vector<TokenId> frequent_tokens(const Dataset& data, std::int32_t vocabulary, std::int32_t size,
                                     std::span<const TokenId> always) {
  if (size < 1 || size > vocabulary) {
    throw Error("draft vocabulary: {} is not between 1 and the target's {}", size, vocabulary);
  }
  std::vector<double> counts = expected_counts(data, vocabulary);
  for (const TokenId id : always)
    counts[static_cast<std::size_t>(id)] = std::numeric_limits<double>::infinity();
  std::vector<TokenId> ids(static_cast<std::size_t>(vocabulary));
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](TokenId a, TokenId b) {
    return counts[static_cast<std::size_t>(a)] > counts[static_cast<std::size_t>(b)];
  });
  ids.resize(static_cast<std::size_t>(size));
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace augur
