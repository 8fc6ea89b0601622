#include "draft/lookup/suffix_array.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace augur {
namespace {

std::size_t at(std::int32_t index) {
  return static_cast<std::size_t>(index);
}

/// One level of SA-IS. The text ends with its only 0. A suffix is of type S if it is smaller than the next
/// one, else L; an S after an L is a "leftmost S" (LMS). Sorting the LMS suffixes sorts all by induction.
class Level {
 public:
  Level(std::span<const std::int32_t> text, std::span<std::int32_t> order, std::int32_t alphabet)
      : text_(text),
        order_(order),
        size_(static_cast<std::int32_t>(text.size())),
        smaller_(text.size()),
        begin_(at(alphabet) + 1) {
    smaller_.back() = true;
    for (std::int32_t i = size_ - 2; i >= 0; --i) {
      smaller_[at(i)] =
          text_[at(i)] != text_[at(i + 1)] ? text_[at(i)] < text_[at(i + 1)] : smaller_[at(i + 1)];
    }
    for (const std::int32_t symbol : text_) ++begin_[at(symbol) + 1];
    for (std::size_t c = 1; c < begin_.size(); ++c) begin_[c] += begin_[c - 1];
  }

  void sort() {
    std::fill(order_.begin(), order_.end(), -1);
    place_ = ends();
    for (std::int32_t i = 1; i < size_; ++i) {
      if (leftmost(i)) put_at_end(i);
    }
    induce();
    const std::int32_t count = name_substrings();
    sort_reduced(count);
    std::fill(order_.begin() + count, order_.end(), -1);
    place_ = ends();
    for (std::int32_t i = count - 1; i >= 0; --i) {
      const std::int32_t position = order_[at(i)];
      order_[at(i)] = -1;
      put_at_end(position);
    }
    induce();
  }

 private:
  bool leftmost(std::int32_t i) const { return i > 0 && smaller_[at(i)] && !smaller_[at(i - 1)]; }
  std::vector<std::int32_t> ends() const { return {begin_.begin() + 1, begin_.end()}; }
  void put_at_end(std::int32_t i) { order_[at(--place_[at(text_[at(i)])])] = i; }

  void induce() {
    place_.assign(begin_.begin(), begin_.end() - 1);
    for (std::int32_t i = 0; i < size_; ++i) {
      const std::int32_t before = order_[at(i)] - 1;
      if (before >= 0 && !smaller_[at(before)]) order_[at(place_[at(text_[at(before)])]++)] = before;
    }
    place_ = ends();
    for (std::int32_t i = size_ - 1; i >= 0; --i) {
      const std::int32_t before = order_[at(i)] - 1;
      if (before >= 0 && smaller_[at(before)]) put_at_end(before);
    }
  }

  bool same_substring(std::int32_t a, std::int32_t b) const {
    for (std::int32_t d = 0;; ++d) {
      if (text_[at(a + d)] != text_[at(b + d)] || smaller_[at(a + d)] != smaller_[at(b + d)]) return false;
      if (d > 0 && (leftmost(a + d) || leftmost(b + d))) return leftmost(a + d) == leftmost(b + d);
    }
  }

  /// Moves the LMS positions, sorted by the substrings up to the next one, to the front of order_ and makes
  /// the reduced text: the substrings' ranks, in text order. Their number.
  std::int32_t name_substrings() {
    std::int32_t count = 0;
    for (std::int32_t i = 0; i < size_; ++i) {
      if (leftmost(order_[at(i)])) order_[at(count++)] = order_[at(i)];
    }
    // Two LMS positions are never adjacent, so halves of them are distinct.
    const std::span<std::int32_t> name_of = order_.subspan(at(count));
    std::fill(name_of.begin(), name_of.end(), -1);
    names_ = 0;
    for (std::int32_t i = 0; i < count; ++i) {
      const std::int32_t position = order_[at(i)];
      if (i == 0 || !same_substring(order_[at(i - 1)], position)) ++names_;
      name_of[at(position / 2)] = names_ - 1;
    }
    reduced_.clear();
    for (const std::int32_t name : name_of) {
      if (name >= 0) reduced_.push_back(name);
    }
    return count;
  }

  /// Sorts the LMS suffixes, into the front of order_.
  void sort_reduced(std::int32_t count) {
    const std::span<std::int32_t> sorted = order_.first(at(count));
    if (names_ < count) {
      Level(reduced_, sorted, names_).sort();
    } else {
      for (std::int32_t i = 0; i < count; ++i) sorted[at(reduced_[at(i)])] = i;
    }
    reduced_.clear();  // now: the LMS positions in text order
    for (std::int32_t i = 1; i < size_; ++i) {
      if (leftmost(i)) reduced_.push_back(i);
    }
    for (std::int32_t& rank : sorted) rank = reduced_[at(rank)];
  }

  std::span<const std::int32_t> text_;
  std::span<std::int32_t> order_;
  std::int32_t size_;
  std::vector<bool> smaller_;        ///< type S
  std::vector<std::int32_t> begin_;  ///< of each symbol's bucket, and the end of the last
  std::vector<std::int32_t> place_;  ///< next free place of each bucket
  std::vector<std::int32_t> reduced_;
  std::int32_t names_ = 0;
};

}  // namespace

std::vector<std::int32_t> suffix_array(std::span<const std::int32_t> text, std::int32_t alphabet) {
  if (text.size() > at(std::numeric_limits<std::int32_t>::max()) - 1) {
    throw Error("suffix array: {} symbols are too many", text.size());
  }
  std::vector<std::int32_t> ended;
  ended.reserve(text.size() + 1);
  for (const std::int32_t symbol : text) ended.push_back(symbol + 1);
  ended.push_back(0);
  std::vector<std::int32_t> order(ended.size());
  Level(ended, order, alphabet + 1).sort();
  order.erase(order.begin());  // the end itself
  return order;
}

}  // namespace augur
