#include "draft/formats/head_loader.h"
#include "draft/recurrent_drafter.h"
#include "draft/registry.h"
#include "model/linear.h"
#include "model/paired_rows.h"

namespace augur {
namespace {

/// EAGLE-1 and EAGLE-2 (Li et al., 2024), which differ in their trees only: x = fc([embedding; state]), a
/// decoder layer whose attention takes x without a norm, then the target's head without a norm. States are
/// the target's after its final norm; embedding and head are the target's.
class EagleHead final : public RecurrentHead {
 public:
  explicit EagleHead(const DrafterSource& source) : target_(source.target) {
    HeadLoader loader(source, stored_layers(source.head->weights(), "layers.0."));
    const ModelConfig& config = loader.layers();
    loader.require_hidden(config.hidden, "hidden_size");
    fc_.open(loader.packer(), "fc", config.hidden, std::int64_t{2} * config.hidden,
             loader.config().flag("bias", true));
    loader.open_layers({.attention_norm = false});
    // Published files may hold a copy of the target's.
    loader.pass_over("embed_tokens.weight");
    layers_ = loader.finish();
    shape_.taps = {loader.target().layers};
    shape_.features = shape_.state = config.hidden;
    shape_.vocab = config.vocab;
  }

  std::string_view name() const override { return "eagle"; }
  Backend& backend() const override { return layers_->backend(); }
  KvCache make_cache(std::int64_t capacity) const override { return layers_->make_cache(capacity); }

  void project(const float* features, int count, float* states) override {
    target_.final_norm(features, count, states);
  }

  std::span<const float> run(const TokenBatch& batch, const float* states) override {
    pairs_.fill(layers_->device(), {.embedding = &target_.embedding()}, batch.tokens, states);
    fc_.run(backend(), batch.rows(), [&](std::int64_t r) { return pairs_.row(r); });
    layers_->forward(batch, {.embeddings = fc_.joined_out(batch.rows())}, nullptr);
    return layers_->result();
  }

  HeadWeights exit() const override {
    HeadWeights exit = head_of(target_);
    exit.norm = {};
    exit.gives_previous = true;
    return exit;
  }
  const float* exit_row(int row) const override { return layers_->result_row(row); }

 private:
  Model& target_;
  Linear fc_;
  std::unique_ptr<LayerStack> layers_;
  PairedRows pairs_;  ///< embedding and state
};

}  // namespace

/// EAGLE-1 and EAGLE-2 heads, as published (pytorch_model.bin or model.safetensors).
std::unique_ptr<DrafterModel> load_eagle_drafter(const DrafterSource& source) {
  return make_recurrent_model(std::make_unique<EagleHead>(source), source.vocabulary);
}

}  // namespace augur
