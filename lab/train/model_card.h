#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "lab/train/learning_curve.h"

namespace augur {

/// What a card says of where a part comes from.
struct CardFacts {
  std::string title;
  std::string target;             ///< file or folder of the target; empty: none
  std::vector<std::string> data;  ///< files with what was read of them
  std::string command;            ///< that repeats the training
  std::string settings;           ///< of the optimizer
  std::int64_t tokens = 0, steps = 0, planned_tokens = 0;
};

/// README.md beside the result: data, steps, losses, the curve.
void write_card(const std::filesystem::path& folder, const CardFacts& facts, const LearningCurve& curve);

}  // namespace augur
