#include "lab/suite/bootstrap.h"

#include <algorithm>
#include <cmath>

namespace augur {
namespace {

/// SplitMix64: the same draws with every library.
class Draws {
 public:
  std::size_t below(std::size_t n) {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<std::size_t>((z ^ (z >> 31)) % n);  // n is far below 2^64: no bias that counts
  }

 private:
  std::uint64_t state_ = 1;
};

}  // namespace

Resamples resample(std::span<const PromptSample> prompts, std::size_t methods) {
  Resamples out;
  std::size_t texts = 0;
  for (const PromptSample& prompt : prompts) texts += prompt.size();
  if (texts < 2) return out;
  Draws draws;
  std::vector<double> rates(methods);
  for (int r = 0; r < kResamples; ++r) {
    rates.assign(methods, 0.0);
    std::vector<double>& tokens = out.tokens.emplace_back(methods);
    std::vector<double>& calls = out.calls.emplace_back(methods);
    for (std::size_t p = 0; p < prompts.size(); ++p) {
      const PromptSample& prompt = prompts[draws.below(prompts.size())];
      const double share = 1.0 / static_cast<double>(prompt.size());
      for (std::size_t s = 0; s < prompt.size(); ++s) {
        const TextSample& text = prompt[draws.below(prompt.size())];
        for (std::size_t m = 0; m < methods; ++m) {
          rates[m] += share * text.rates[m];
          tokens[m] += text.tokens[m];
          calls[m] += text.calls[m];
        }
      }
    }
    std::vector<double>& speedups = out.speedups.emplace_back(rates);
    for (double& speedup : speedups) speedup /= rates.front();
  }
  return out;
}

std::optional<Interval> interval_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(std::llround(share * static_cast<double>(values.size() - 1)))];
  };
  return Interval{at(0.025), at(0.975)};
}

}  // namespace augur
