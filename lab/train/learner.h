#pragma once
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/corpus/dataset.h"
#include "lab/train/draft_vocabulary.h"
#include "lab/train/torch_tensors.h"
#include "model/fingerprint.h"

namespace augur {

/// Sums over the rows that a learner was graded on; `hits[i]` of `tries[i]` rows agreed with the target at
/// draft depth i.
struct Grade {
  double loss = 0;
  std::int64_t rows = 0;
  std::vector<std::int64_t> hits;
  std::vector<std::int64_t> tries;

  Grade() = default;
  explicit Grade(int depths) : hits(static_cast<std::size_t>(depths)), tries(hits) {}
  void count(int depth, std::int64_t agreed, std::int64_t of);
  void add(const Grade& other);
  double mean_loss() const { return rows > 0 ? loss / static_cast<double>(rows) : 0; }
  double agreement(std::size_t depth) const;
  /// Expected accepted length of a greedy chain, bonus token counted, if depths were independent:
  /// 1 + a_0 + a_0 a_1 + ...
  double chain_length() const;
  std::string summary() const;
};

/// A part that gradient descent trains: a draft head, a language model. What differs between parts is the
/// loss on a sequence and the published layout; the loop, the checkpoints and the card are TrainingRun's.
/// Used from one thread.
class Learner {
 public:
  virtual ~Learner() = default;

  /// What it is, for people.
  virtual std::string title() const = 0;
  /// Trainable leaves, float32, by the names of the published layout. The same order every time.
  virtual NamedTensors parameters() = 0;
  /// Whether a parameter is a table with a row for every token of a vocabulary, not a matrix between states.
  virtual bool is_table(std::string_view /*name*/) const { return false; }
  /// Forward and, with `learn`, backward: adds the gradient of the *summed* loss to the parameters. What the
  /// sequences are run with does not matter but for rounding; memory grows with their tokens.
  virtual Grade run(std::span<const Example> examples, bool learn) = 0;
  /// Logits over the draft vocabulary for what follows tokens[root], tokens[root + 1], ...: [depths, V]. What
  /// a drafter with the saved part computes when the target has run the tokens before the root and the tokens
  /// after it are drafted. root >= 1.
  virtual torch::Tensor draft_logits(const Example& example, std::int64_t root) = 0;

  /// Whether run() keeps only some of what the backward pass needs and computes the rest again there, layer
  /// by layer (lab/train/gradient_checkpoint.h): less memory, more time, on a CPU the same gradients bit for
  /// bit.
  virtual void set_gradient_checkpointing(bool on) { gradient_checkpointing_ = on; }

  /// The target that config.json shall name.
  void made_for(Fingerprint target) { target_fingerprint_ = std::move(target); }
  /// What a checkpoint of it depends on: config.json, and hashes of the constants.
  nlohmann::json settings() const;
  /// Uses the weights of another learner of the same part from now on, not a copy; gradients stay apart.
  void share_weights(Learner& other);
  /// Writes the part as its users load it: weights, then config.json.
  virtual void save(const std::filesystem::path& folder);
  /// Takes the weights of a part saved earlier. One with a draft vocabulary may have been saved with another:
  /// see DraftVocabulary::take_rows for its tables. Error unless other constants are the same.
  void load(const std::filesystem::path& folder);

 protected:
  bool gradient_checkpointing() const { return gradient_checkpointing_; }
  /// Name of the weights' file.
  virtual std::string file() const { return "model.safetensors"; }
  /// What is stored beside the parameters and never changes, such as a map of vocabularies.
  virtual NamedTensors constants() const { return {}; }
  /// The draft vocabulary that its tables have a row for each token of; null: it has none, or more than a
  /// table's rows depend on it.
  virtual const DraftVocabulary* table_vocabulary() const { return nullptr; }
  virtual nlohmann::json config() const = 0;

 private:
  /// config() and the target.
  nlohmann::json described() const;

  std::optional<Fingerprint> target_fingerprint_;
  bool gradient_checkpointing_ = false;
};

}  // namespace augur
