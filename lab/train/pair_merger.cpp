#include "lab/train/pair_merger.h"

#include <algorithm>

namespace augur {

PairMerger::PairMerger(std::vector<Word> words) : words_(std::move(words)) {
  for (std::size_t w = 0; w < words_.size(); ++w) count_pairs(w, +1);
  queue_touched();
}

void PairMerger::count_pairs(std::size_t w, std::int64_t sign) {
  const Word& word = words_[w];
  for (std::size_t i = 0; i + 1 < word.symbols.size(); ++i) {
    const std::uint64_t key = std::uint64_t{word.symbols[i]} << 32 | word.symbols[i + 1];
    Occurrences& pair = pairs_[key];
    pair.count += sign * word.count;
    if (sign > 0 && (pair.words.empty() || pair.words.back() != w)) pair.words.push_back(w);
    if (!pair.touched) touched_.push_back(key);
    pair.touched = true;
  }
}

void PairMerger::queue_touched() {
  for (const std::uint64_t key : touched_) {
    const auto found = pairs_.find(key);
    found->second.touched = false;
    if (found->second.count > 0) {
      queue_.push({found->second.count, key});
    } else {
      pairs_.erase(found);
    }
  }
  touched_.clear();
}

bool PairMerger::best(Pair& pair) {
  while (!queue_.empty()) {
    const Candidate top = queue_.top();
    queue_.pop();
    const auto found = pairs_.find(top.pair);
    if (found == pairs_.end() || found->second.count != top.count) continue;
    pair = {static_cast<Symbol>(top.pair >> 32), static_cast<Symbol>(top.pair)};
    return top.count >= 2;
  }
  return false;
}

void PairMerger::merge(Pair pair, Symbol into) {
  std::vector<std::size_t> words = std::move(pairs_[std::uint64_t{pair.left} << 32 | pair.right].words);
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  for (const std::size_t w : words) {
    count_pairs(w, -1);
    std::vector<Symbol>& symbols = words_[w].symbols;
    std::size_t out = 0;
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const bool joins = i + 1 < symbols.size() && symbols[i] == pair.left && symbols[i + 1] == pair.right;
      symbols[out++] = joins ? into : symbols[i];
      if (joins) ++i;
    }
    symbols.resize(out);
    count_pairs(w, +1);
  }
  queue_touched();
}

}  // namespace augur
