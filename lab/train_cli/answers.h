#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "augur/engine.h"

namespace augur {

/// How the target answers prompts, as data for the other parts.
struct AnswerFlags {
  std::string model;
  std::vector<std::string> prompts;
  std::vector<std::string> exclude;  ///< files of prompts of which none, nor a near neighbour, is answered
  std::string out;
  std::vector<double> temperatures = {0, 0, 0, 0.6, 0.8, 1.0};
  std::int64_t limit = 0;
  std::int64_t max_prompt = 512;
  std::int64_t text_bytes = 400;
  std::int64_t max_tokens = 384;
  int parallel = 32;
  WeightFormat weights = WeightFormat::Auto;
  int threads = 0;
  double minutes = 0;
  std::uint64_t seed = 1;
};

/// Appends the answers that are missing in `out`. Returns the exit status: 0, or that of an interrupt, after
/// which the same flags go on.
int make_answers(const AnswerFlags& flags);

}  // namespace augur
