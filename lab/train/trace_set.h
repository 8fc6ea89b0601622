#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/trace/trace.h"

namespace augur {

/// Trace files that belong together: of one target and one way of drafting.
class TraceSet {
 public:
  /// Error naming the first file that is of another target, drafter or tree than the files before it.
  /// `held_out`: share of the sequences that are kept for grading.
  TraceSet(std::vector<std::string> files, double held_out);

  const TraceHeader& header() const { return header_; }
  /// Hands over every sequence in order, and whether it is held out: the same ones each time, and those of
  /// one prompt together.
  void each(const std::function<void(const TraceSequence& sequence, bool held_out)>& take) const;
  const std::vector<std::string>& files() const { return files_; }

 private:
  std::vector<std::string> files_;
  std::int64_t every_ = 0;  ///< one sequence in so many is held out; 0: none
  TraceHeader header_;
};

/// One bit to be told from some numbers, many times.
struct Examples {
  std::int64_t width = 0;
  std::vector<float> features;  ///< [size, width]
  std::vector<std::uint8_t> labels;
  std::vector<float> chances;   ///< [size] to be learnt in the labels' place; empty: the labels are
  std::vector<float> baseline;  ///< [size]: the number that a network over the features should beat

  std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
  std::int64_t positives() const;
};
struct SplitExamples {
  Examples train, held_out;
};

/// What C2T's classifier may look at, by the names of its config.json: of a candidate its joint probability
/// and the logarithm of it, the entropy of the distribution it came from and its depth. `scale` brings a
/// feature to about the range of a probability; `column` is its place in this list.
struct C2tFeature {
  std::string_view name;
  std::size_t column = 0;
  float scale = 1;
};
/// The features of these names, in their order; none: all. Error for a name that is unknown or comes twice.
std::vector<C2tFeature> c2t_features(std::span<const std::string> names);
/// C2T's: of every candidate these features, and whether it was accepted. Baseline: the joint probability.
SplitExamples c2t_examples(const TraceSet& traces, std::span<const C2tFeature> features);
/// Of every drafted node whose parent was accepted the drafter's hidden state, its log-probability and the
/// entropy of the distribution it came from (kDrawFeatures); whether it was, too. Baseline: the
/// log-probability. Error when there are no states, or with Soft no probabilities of the target.
constexpr std::int64_t kDrawFeatures = 2;
enum class AcceptanceLabels {
  Hard,  ///< whether the text goes through the token
  Soft,  ///< min(1, q / p), the chance that sampling would have accepted it (the paper's equation 9)
};
SplitExamples acceptance_examples(const TraceSet& traces, AcceptanceLabels labels = AcceptanceLabels::Hard);

}  // namespace augur
