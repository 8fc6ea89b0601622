#include "draft/eagle_head.h"

#include <algorithm>

#include "draft/head_loader.h"
#include "draft/recurrent_drafter.h"
#include "model/linear.h"

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
    pair_ = RowBuffer(DType::F32, 2 * shape_.state, 1);
    input_ = RowBuffer(DType::F32, shape_.state, PackedMatrix::kPanel);
  }

  std::string_view name() const override { return "eagle"; }
  Backend& backend() const override { return layers_->backend(); }
  KvCache make_cache(std::int64_t capacity) const override { return layers_->make_cache(capacity); }

  void project(const float* features, int count, float* states) override {
    target_.final_norm(features, count, states);
  }

  std::span<const float> run(const TokenBatch& batch, const float* states) override {
    const std::int64_t width = shape_.state;
    fc_.ensure(batch.rows());
    pair_.ensure(batch.rows());
    input_.ensure(batch.rows());
    backend().pool.run([&](Team& team) {
      const auto pair = [&](std::int64_t r) {
        target_.embed(batch.tokens.subspan(static_cast<std::size_t>(r), 1), pair_.floats(r));
        std::copy_n(states + r * width, width, pair_.floats(r) + width);
        return pair_.floats(r);
      };
      fc_.apply(team, backend().kernels, batch.rows(), pair, input_.floats(0), input_.stride());
    });
    return layers_->forward(batch, {.embeddings = input_.floats(0)}, nullptr);
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
  RowBuffer pair_;   ///< [rows, 2 * state] embedding and state
  RowBuffer input_;  ///< [rows, state] what enters the layers
};

}  // namespace

std::unique_ptr<DrafterModel> load_eagle_drafter(const DrafterSource& source) {
  return make_recurrent_model(std::make_unique<EagleHead>(source), source.vocabulary);
}

}  // namespace augur
