#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "train/dataset.h"
#include "train/torch_tensors.h"

namespace augur {

/// Sums over the rows that a learner was graded on; `hits[i]` of `tries[i]` rows agreed with the target at
/// draft depth i.
struct Grade {
  double loss = 0;
  std::int64_t rows = 0;
  std::vector<std::int64_t> hits;
  std::vector<std::int64_t> tries;

  void add(const Grade& other);
  double mean_loss() const { return rows > 0 ? loss / static_cast<double>(rows) : 0; }
  /// Expected accepted length of a greedy chain, bonus token counted, if depths were independent:
  /// 1 + a_0 + a_0 a_1 + ...
  double chain_length() const;
  std::string summary() const;
};

/// A part that gradient descent trains. Used from one thread.
class Learner {
 public:
  virtual ~Learner() = default;

  /// Trainable leaves, float32, by the names of the published layout. The same order every time.
  virtual NamedTensors parameters() = 0;
  /// Forward and, with `learn`, backward: adds the gradient of the *summed* loss to the parameters.
  virtual Grade run(const Example& example, bool learn) = 0;
  /// Writes the part as its users load it.
  virtual void save(const std::filesystem::path& folder) = 0;
};

}  // namespace augur
