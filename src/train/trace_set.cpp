#include "train/trace_set.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "trace/trace_file.h"

namespace augur {

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
               header.size != header_.size || header.entropy_top_k != header_.entropy_top_k) {
      throw Error("{}: traces of another drafter or tree than {}", files_[i], files_[0]);
    }
  }
}

void TraceSet::each(const std::function<void(const TraceSequence&, bool)>& take) const {
  TraceSequence sequence;
  std::int64_t number = 0;
  for (const std::string& file : files_) {
    TraceReader reader(file);
    while (reader.next(sequence)) take(sequence, every_ > 0 && ++number % every_ == 0);
  }
}

std::int64_t Examples::positives() const {
  return std::count(labels.begin(), labels.end(), std::uint8_t{1});
}

SplitExamples c2t_examples(const TraceSet& traces) {
  SplitExamples split;
  split.train.width = split.held_out.width = 3;
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
        const float depth = static_cast<float>(depths[n]);
        examples.features.insert(examples.features.end(), {std::exp(scores[n]), entropy, depth});
        examples.labels.push_back(labels[n] == NodeLabel::Accepted);
      }
    }
  });
  return split;
}

SplitExamples acceptance_examples(const TraceSet& traces) {
  if (traces.header().hidden == 0) {
    throw Error("{}: no hidden states: record traces with --hidden", traces.files().front());
  }
  SplitExamples split;
  split.train.width = split.held_out.width = traces.header().hidden;
  std::vector<NodeLabel> labels;
  traces.each([&](const TraceSequence& sequence, bool held_out) {
    Examples& examples = held_out ? split.held_out : split.train;
    for (const TraceRound& round : sequence.rounds) {
      label_nodes(sequence, round, labels);
      for (std::size_t i = 0; i < round.stateful.size(); ++i) {
        const auto n = static_cast<std::size_t>(round.stateful[i]);
        if (n == 0 || labels[n] == NodeLabel::Unknown) continue;
        if (labels[static_cast<std::size_t>(round.parents[n])] != NodeLabel::Accepted) continue;
        const auto from = round.hidden.begin() + static_cast<std::ptrdiff_t>(i) * examples.width;
        examples.features.insert(examples.features.end(), from, from + examples.width);
        examples.labels.push_back(labels[n] == NodeLabel::Accepted);
      }
    }
  });
  return split;
}

}  // namespace augur
