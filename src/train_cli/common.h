#pragma once
#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/checkpoint.h"
#include "train/dataset.h"
#include "train/training_run.h"

namespace augur {

/// Flags that every gradient-trained part takes.
struct TrainFlags {
  std::string model;
  std::vector<std::string> data;
  std::string out;
  std::int64_t max_length = 512;
  std::int64_t max_tokens_per_file = 0;
  double minutes = 0;  ///< stop (with a checkpoint) after so long; 0: run to the end
  int threads = 0;
  TrainingOptions training;

  void add_to(CLI::App& app);
};

/// The target with its tokenised data.
struct TrainingInput {
  Checkpoint checkpoint;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<ChatTemplate> chat_template;
  std::unique_ptr<Dataset> data;
};
TrainingInput read_input(const TrainFlags& flags);

/// Trains until the schedule, the minutes or an interrupt end it. Returns the exit status.
int train_learner(Learner& learner, const TrainingInput& input, const TrainFlags& flags);

}  // namespace augur
