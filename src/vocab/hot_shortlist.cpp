#include "vocab/hot_shortlist.h"

#include <algorithm>

namespace augur {
namespace {

class HotShortlist final : public Shortlist {
 public:
  HotShortlist(const HeadWeights& weights, const TokenOrder& order, std::int64_t size) {
    corpus_ = frequent_entries(weights, order, size);
    order_ = corpus_;
    TokenId last = 0;
    for (std::int64_t e = 0; e < weights.usable; ++e) last = std::max(last, weights.target_id(e));
    entry_of_.assign(static_cast<std::size_t>(last) + 1, -1);
    for (std::int64_t e = 0; e < weights.usable; ++e) {
      entry_of_[static_cast<std::size_t>(weights.target_id(e))] = static_cast<std::int32_t>(e);
    }
    position_of_.assign(static_cast<std::size_t>(weights.matrix->n()), -1);
    // The most frequent half stays whatever the text is about.
    first_victim_ = order_.size() / 2;
    begin();
  }

  bool changes() const override { return true; }
  void select(std::span<const HeadRow> rows, Selection& out) override {
    out.columns = std::ssize(order_);
    out.runs.assign(1, {0, (out.columns + PackedMatrix::kPanel - 1) / PackedMatrix::kPanel});
    out.by_row.assign(rows.size(), out.columns);
  }

  std::span<const Swap> saw(std::span<const TokenId> tokens) override {
    swaps_.clear();
    for (const TokenId token : tokens) {
      if (token < 0 || token >= std::ssize(entry_of_)) continue;
      const std::int32_t entry = entry_of_[static_cast<std::size_t>(token)];
      if (entry < 0) continue;
      std::int32_t& position = position_of_[static_cast<std::size_t>(entry)];
      if (position < 0) position = take_place(entry);
      std::uint8_t& uses = uses_[static_cast<std::size_t>(position)];
      uses = std::min<std::uint8_t>(uses + 1, kMostUses);
    }
    return swaps_;
  }

  std::span<const Swap> forget() override {
    swaps_.clear();
    for (std::size_t p = 0; p < order_.size(); ++p) {
      if (order_[p] != corpus_[p]) swaps_.push_back({static_cast<std::int64_t>(p), corpus_[p]});
    }
    for (const std::int32_t entry : order_) position_of_[static_cast<std::size_t>(entry)] = -1;
    order_ = corpus_;
    begin();
    return swaps_;
  }

 private:
  /// Nothing has been seen of the texts that order_ is for.
  void begin() {
    for (std::size_t p = 0; p < order_.size(); ++p) {
      position_of_[static_cast<std::size_t>(order_[p])] = static_cast<std::int32_t>(p);
    }
    uses_.assign(order_.size(), 0);
    victim_ = order_.size();
  }

  /// A clock that counts (GCLOCK), backwards from the rarest token: every use of a place spares it one pass
  /// of the hand, up to kMostUses.
  std::int32_t take_place(std::int32_t entry) {
    do {
      if (victim_ == first_victim_) victim_ = order_.size();
      --victim_;
    } while (uses_[victim_] > 0 && uses_[victim_]-- > 0);
    position_of_[static_cast<std::size_t>(order_[victim_])] = -1;
    order_[victim_] = entry;
    swaps_.push_back({static_cast<std::int64_t>(victim_), entry});
    return static_cast<std::int32_t>(victim_);
  }

  static constexpr std::uint8_t kMostUses = 7;

  std::vector<std::int32_t> corpus_;       ///< order_ at first
  std::vector<std::int32_t> entry_of_;     ///< by target token; -1: the drafter does not have it
  std::vector<std::int32_t> position_of_;  ///< by entry; -1: not on the list
  std::vector<std::uint8_t> uses_;         ///< by position, less the passes of the hand
  std::size_t first_victim_ = 0;
  std::size_t victim_ = 0;
  std::vector<Swap> swaps_;
};

}  // namespace

std::unique_ptr<Shortlist> make_hot_shortlist(const HeadWeights& weights, const TokenOrder& order,
                                              std::int64_t size) {
  return std::make_unique<HotShortlist>(weights, order, size);
}

}  // namespace augur
