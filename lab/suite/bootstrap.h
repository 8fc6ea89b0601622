#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace augur {

/// Where a figure would lie in 95 of 100 repetitions with other prompts, and other seeds, of the same kind.
struct Interval {
  double low = 0;
  double high = 0;
};

/// One text of a prompt, by method: what figures are computed from.
struct TextSample {
  std::vector<double> rates;   ///< tokens per second
  std::vector<double> tokens;  ///< over all rounds
  std::vector<double> calls;   ///< the same
};
using PromptSample = std::vector<TextSample>;  ///< of a prompt, by seed; at least one

/// A figure of every method in every resample: [resample][method].
struct Resamples {
  std::vector<std::vector<double>> speedups;  ///< ratio of mean rates to the first method's
  std::vector<std::vector<double>> tokens;
  std::vector<std::vector<double>> calls;

  bool empty() const { return speedups.empty(); }
};

inline constexpr int kResamples = 2000;

/// A paired bootstrap in two stages: prompts are drawn with replacement, then of each as many of its texts as
/// it has; all methods have the same draws, so that hard prompts are hard for all of them. The same samples
/// give the same resamples. Empty where there is but one text: it says nothing of others.
Resamples resample(std::span<const PromptSample> prompts, std::size_t methods);

/// The 2.5th and the 97.5th percentile; none of nothing.
std::optional<Interval> interval_of(std::vector<double> values);

}  // namespace augur
