#include "lab/train/trace_set.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "lab/trace/trace_file.h"
#include "policy/acceptance_head.h"
#include "policy/c2t_classifier.h"

namespace augur {

namespace {

/// Of all features; entropies are scaled by that of 1000 equal tokens, depths by 10.
const std::array<C2tFeature, 4>& all_c2t_features() {
  static const std::array<C2tFeature, 4> all = {
      {{"P", 0, 1}, {"logP", 1, 0.2f}, {"H", 2, static_cast<float>(1.0 / std::log(1000.0))}, {"d", 3, 0.1f}}};
  return all;
}

}  // namespace

TraceSet::TraceSet(std::vector<std::string> files, double held_out) : files_(std::move(files)) {
  if (held_out > 0) every_ = std::max<std::int64_t>(2, std::llround(1.0 / held_out));
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const TraceReader reader(files_[i]);
    const TraceHeader& header = reader.header();
    if (i == 0) {
      header_ = header;
    } else if (header.target != header_.target) {
      throw Error("{}: traces of another target than {}", files_[i], files_[0]);
    } else if (header.drafter != header_.drafter || header.hidden != header_.hidden ||
               header.top_k != header_.top_k || header.depth != header_.depth ||
               header.size != header_.size || header.entropy_top_k != header_.entropy_top_k ||
               header.target_probabilities != header_.target_probabilities) {
      throw Error("{}: traces of another drafter or tree than {}", files_[i], files_[0]);
    }
  }
}

void TraceSet::each(const std::function<void(const TraceSequence&, bool)>& take) const {
  TraceSequence sequence;
  std::int64_t number = 0;
  std::vector<TokenId> prompt;  // of the sequence before; one that continues it (token mixing) stays with it
  for (const std::string& file : files_) {
    TraceReader reader(file);
    while (reader.next(sequence)) {
      const bool continues = !prompt.empty() && sequence.tokens.size() >= prompt.size() &&
                             std::equal(prompt.begin(), prompt.end(), sequence.tokens.begin());
      if (!continues) {
        ++number;
        prompt.assign(sequence.tokens.begin(), sequence.tokens.begin() + sequence.prompt_size);
      }
      take(sequence, every_ > 0 && number % every_ == 0);
    }
  }
}

std::int64_t Examples::positives() const {
  return std::count(labels.begin(), labels.end(), std::uint8_t{1});
}

std::vector<C2tFeature> c2t_features(std::span<const std::string> names) {
  const auto& all = all_c2t_features();
  if (names.empty()) return {all.begin(), all.end()};
  std::vector<C2tFeature> chosen;
  const auto with = [](const auto& list, const std::string& name) {
    return std::find_if(list.begin(), list.end(), [&](const C2tFeature& f) { return f.name == name; });
  };
  for (const std::string& name : names) {
    const auto known = with(all, name);
    if (known == all.end()) throw Error("feature {:?}: expected some of P, logP, H, d", name);
    if (with(chosen, name) != chosen.end()) throw Error("feature {} is named twice", name);
    chosen.push_back(*known);
  }
  return chosen;
}

SplitExamples c2t_examples(const TraceSet& traces, std::span<const C2tFeature> features) {
  const auto kLeastLogJoint = static_cast<float>(std::log(C2tClassifier::kLeastJoint));
  SplitExamples split;
  split.train.width = split.held_out.width = std::ssize(features);
  std::vector<NodeLabel> labels;
  std::vector<float> scores;
  std::vector<std::int32_t> depths;
  traces.each([&](const TraceSequence& sequence, bool held_out) {
    Examples& examples = held_out ? split.held_out : split.train;
    for (const TraceRound& round : sequence.rounds) {
      label_nodes(sequence, round, labels);
      score_nodes(round, scores, depths);
      for (std::size_t n = 1; n < round.size(); ++n) {
        const float entropy = round.entropies[static_cast<std::size_t>(round.parents[n])];
        if (labels[n] == NodeLabel::Unknown || std::isnan(entropy)) continue;
        const float log_joint = std::max(scores[n], kLeastLogJoint);
        const float depth = static_cast<float>(depths[n]);
        const std::array<float, 4> values = {std::exp(scores[n]), log_joint, entropy, depth};
        for (const C2tFeature& feature : features) examples.features.push_back(values[feature.column]);
        examples.labels.push_back(labels[n] == NodeLabel::Accepted);
        examples.baseline.push_back(scores[n]);
      }
    }
  });
  return split;
}

SplitExamples acceptance_examples(const TraceSet& traces, AcceptanceLabels learnt) {
  constexpr auto kLeastLogProb = static_cast<float>(AcceptanceHead::kLeastLogProb);
  if (traces.header().hidden == 0) {
    throw Error("{}: no hidden states: record traces with --hidden", traces.files().front());
  }
  const bool soft = learnt == AcceptanceLabels::Soft;
  if (soft && !traces.header().target_probabilities) {
    throw Error("{}: no probabilities of the target: record traces with --target-probabilities",
                traces.files().front());
  }
  SplitExamples split;
  const std::int64_t states = traces.header().hidden;
  split.train.width = split.held_out.width = states + kDrawFeatures;
  std::vector<NodeLabel> labels;
  traces.each([&](const TraceSequence& sequence, bool held_out) {
    Examples& examples = held_out ? split.held_out : split.train;
    for (const TraceRound& round : sequence.rounds) {
      label_nodes(sequence, round, labels);
      for (std::size_t i = 0; i < round.stateful.size(); ++i) {
        const auto n = static_cast<std::size_t>(round.stateful[i]);
        if (n == 0 || labels[n] == NodeLabel::Unknown) continue;
        const auto parent = static_cast<std::size_t>(round.parents[n]);
        if (labels[parent] != NodeLabel::Accepted || std::isnan(round.entropies[parent])) continue;
        if (soft) {
          if (std::isnan(round.target_log_probs[n])) continue;
          examples.chances.push_back(
              std::exp(std::min(round.target_log_probs[n] - round.log_probs[n], 0.0f)));
        }
        const auto from = round.hidden.begin() + static_cast<std::ptrdiff_t>(i) * states;
        examples.features.insert(examples.features.end(), from, from + states);
        examples.features.push_back(std::max(round.log_probs[n], kLeastLogProb));
        examples.features.push_back(round.entropies[parent]);
        examples.labels.push_back(labels[n] == NodeLabel::Accepted);
        examples.baseline.push_back(round.log_probs[n]);
      }
    }
  });
  return split;
}

}  // namespace augur
