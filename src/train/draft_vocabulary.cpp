#include "train/draft_vocabulary.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "io/safetensors.h"

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

std::vector<TokenId> frequent_tokens(const Dataset& data, std::int32_t vocabulary, std::int32_t size,
                                     std::span<const TokenId> always) {
  if (size < 1 || size > vocabulary) {
    throw Error("draft vocabulary: {} is not between 1 and the target's {}", size, vocabulary);
  }
  std::vector<std::int64_t> counts(static_cast<std::size_t>(vocabulary), 0);
  for (std::int64_t i = 0; i < data.size(); ++i) {
    const Example example = data[i];
    for (std::size_t t = 0; t < example.tokens.size(); ++t) {
      if (example.learn[t] != 0) ++counts[static_cast<std::size_t>(example.tokens[t])];
    }
  }
  for (const TokenId id : always) counts[static_cast<std::size_t>(id)] = INT64_MAX;
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
