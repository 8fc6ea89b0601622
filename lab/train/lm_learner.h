#pragma once
#include <memory>
#include <optional>

#include "checkpoint/checkpoint.h"
#include "lab/train/learner.h"
#include "lab/train/lesson.h"

namespace augur {

/// A Llama-architecture language model. Alone it learns the next tokens of the data (cross-entropy at the
/// positions to learn); with a target it is a draft model and learns the target's distribution there (soft
/// cross-entropy, distillation).
class LmLearner final : public Learner {
 public:
  struct Options {
    ModelConfig shape;
    std::uint64_t seed = 1;
    /// Whose tokenizer and special ids the saved folder gets; null: none. Outlives the learner.
    const Checkpoint* tokenizer = nullptr;
    const TorchLlama* target = nullptr;  ///< to be distilled, on the same device; outlives the learner
    torch::Device device = torch::kCPU;
  };
  explicit LmLearner(const Options& options);

  std::string title() const override { return options_.target ? "Draft model" : "Language model"; }
  NamedTensors parameters() override { return model_.named(); }
  bool is_table(std::string_view name) const override {
    return name == "model.embed_tokens.weight" || name == "lm_head.weight";
  }
  Grade run(std::span<const Example> examples, bool learn) override;
  torch::Tensor draft_logits(const Example& example, std::int64_t root) override;
  void set_gradient_checkpointing(bool on) override { model_.set_gradient_checkpointing(on); }
  /// A Hugging Face folder, tokenizer included.
  void save(const std::filesystem::path& folder) override;

 protected:
  nlohmann::json config() const override;

 private:
  Options options_;
  TorchLlama model_;
};

/// A shape for a Llama of so many layers over another model's vocabulary and context.
struct LmShape {
  int hidden = 192, intermediate = 512, layers = 4, heads = 6, kv_heads = 2;
  std::int64_t context = 0;  ///< 0: as the other's
};
/// Error naming the number that does not fit.
ModelConfig llama_shape(const LmShape& shape, const nlohmann::json& other, const std::string& file);

}  // namespace augur
