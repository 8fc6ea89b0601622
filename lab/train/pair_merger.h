#pragma once
#include <cstdint>
#include <queue>
#include <unordered_map>
#include <vector>

namespace augur {

/// Counts neighbouring symbols in words and merges pairs of them: the inside of byte-pair encoding (Sennrich
/// et al. 2016). Work is proportional to what a merge changes.
class PairMerger {
 public:
  using Symbol = std::uint32_t;
  struct Word {
    std::vector<Symbol> symbols;
    std::int64_t count = 0;  ///< occurrences
  };
  struct Pair {
    Symbol left = 0, right = 0;
  };
  /// The order of the words does not matter to best(), that of symbols does: smaller ones first on a tie.
  explicit PairMerger(std::vector<Word> words);

  /// The most frequent pair; false when none occurs twice.
  bool best(Pair& pair);
  /// Replaces every occurrence, from the left, by one symbol.
  void merge(Pair pair, Symbol into);

 private:
  struct Occurrences {
    std::int64_t count = 0;
    std::vector<std::size_t> words;  ///< that held it at some time
    bool touched = false;
  };
  /// A pair's number of occurrences when it was queued; stale once the number has changed.
  struct Candidate {
    std::int64_t count;
    std::uint64_t pair;
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };
  void count_pairs(std::size_t word, std::int64_t sign);
  void queue_touched();

  std::vector<Word> words_;
  std::unordered_map<std::uint64_t, Occurrences> pairs_;  ///< by left << 32 | right
  std::priority_queue<Candidate> queue_;
  std::vector<std::uint64_t> touched_;  ///< pairs whose count changed since they were queued
};

}  // namespace augur
