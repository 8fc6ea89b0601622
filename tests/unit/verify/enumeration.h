#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "verify/chance.h"

namespace augur {

/// Runs a random procedure through every outcome of its Chance, with the probability of each.
class EnumeratingChance final : public Chance {
 public:
  bool happens(double p) override {
    const double weights[] = {p, 1.0 - p};
    return choose(weights) == 0;
  }
  std::int32_t pick(std::span<const double> weights) override {
    double total = 0;
    for (const double w : weights) total += w;
    std::vector<double> law;
    for (const double w : weights) law.push_back(w / total);
    return static_cast<std::int32_t>(choose(law));
  }

  /// body(chance) is called once per outcome; probability() is valid in and after it.
  static void for_each_outcome(const std::function<void(EnumeratingChance&)>& body) {
    EnumeratingChance chance;
    do {
      chance.next_ = 0;
      chance.probability_ = 1;
      body(chance);
    } while (chance.advance());
  }
  double probability() const { return probability_; }

 private:
  struct Choice {
    std::size_t taken = 0;
    std::vector<double> law;
  };

  std::size_t choose(std::span<const double> law) {
    if (next_ == choices_.size()) {
      Choice choice{.law = {law.begin(), law.end()}};
      while (choice.taken + 1 < law.size() && law[choice.taken] <= 0) ++choice.taken;
      choices_.push_back(std::move(choice));
    }
    const Choice& choice = choices_[next_++];
    probability_ *= choice.law[choice.taken];
    return choice.taken;
  }
  bool advance() {
    while (!choices_.empty()) {
      Choice& last = choices_.back();
      while (++last.taken < last.law.size() && last.law[last.taken] <= 0) {
      }
      if (last.taken < last.law.size()) return true;
      choices_.pop_back();
    }
    return false;
  }

  std::vector<Choice> choices_;
  std::size_t next_ = 0;
  double probability_ = 1;
};

}  // namespace augur
