#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "augur/enums.h"
#include "checkpoint/checkpoint.h"
#include "decode/decoder.h"
#include "draft/registry.h"
#include "lab/corpus/prompt_source.h"
#include "lab/vocabulary/router_trainer.h"
#include "policy/eagle2_policy.h"

namespace augur {

/// A target and a draft model or head, to learn a draft vocabulary from and to
/// measure it with: the drafter can be loaded again and again, each time with
/// another vocabulary. One thread at a time.
class VocabularyBench {
 public:
  struct Options {
    std::string model;
    std::string draft;  ///< may be empty for a type that needs none
    std::string type;   ///< empty: what the draft model is
    int threads = 0;
    ArithmeticLaw law = ArithmeticLaw::Auto;
  };
  /// Error for a drafter that has no vocabulary projection.
  explicit VocabularyBench(const Options& options);

  Backend& backend() { return backend_; }
  Model& target() { return *model_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  /// "draft smollm2-draft-11m"
  std::string drafter_name() const;

  std::unique_ptr<DrafterModel> load(const VocabularyChoice& vocabulary);

  /// Prompts of files of JSON lines (prompt_source.h) as the target reads them,
  /// at most `limit` of each file (0: all), those of more than `longest` tokens
  /// left out. Error when there is none.
  std::vector<std::vector<TokenId>> prompts(std::span<const std::string> files, std::int64_t limit,
                                            std::int64_t longest) const;

  struct Run {
    SamplingOptions sampling;
    Verification verification = Verification::Walk;
    std::int64_t max_tokens = 128;
    std::size_t parallel = 1;
    Eagle2Policy::Options tree{.top_k = 4, .levels = 5, .size = 24};  ///< top_k 1: a chain
    std::function<void(const Sequence&, const StepTrace&)> on_step;
    /// After every step; false ends the run: unfinished sequences do not count.
    std::function<bool(std::int64_t done)> go_on;
  };
  struct Answers {
    std::vector<std::vector<TokenId>> tokens;  ///< by prompt; empty where it did not end
    SpeculationStatistics total;
    std::int64_t generated_tokens = 0;
    double decode_ms = 0;
  };
  Answers run(const DrafterModel* drafter, std::span<const std::vector<TokenId>> prompts, const Run& how);

 private:
  Backend backend_;
  Checkpoint checkpoint_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::optional<ChatTemplate> template_;
  std::optional<Checkpoint> draft_;
  const DrafterType* type_ = nullptr;
  std::unique_ptr<Model> model_;
};

/// Keeps what a router would read and the drafter's best tokens, of every row
/// that its head projects.
class ExampleCollector {
 public:
  /// At most `most` examples, with `top` tokens each.
  ExampleCollector(RouterInput input, std::int64_t top, std::int64_t most) : input_(input), most_(most) {
    examples_.top = top;
  }

  HeadObserver observer();
  bool full() const { return examples_.size() >= most_; }
  const RouterExamples& examples() const { return examples_; }
  /// Of the drafter; null before the first row. Valid while the drafter is.
  const HeadWeights* weights() const { return weights_ ? &*weights_ : nullptr; }

 private:
  void take(const HeadWeights& weights, std::span<const HeadRow> rows, const VocabularyHead& head);

  RouterInput input_;
  std::int64_t most_;
  RouterExamples examples_;
  std::optional<HeadWeights> weights_;
  TopKScratch scratch_;
  std::vector<std::int32_t> entries_;
  std::vector<float> values_;
};

}  // namespace augur
