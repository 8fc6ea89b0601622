#include "draft/mtp_head.h"

#include <algorithm>

#include "base/error.h"
#include "draft/head_loader.h"
#include "draft/recurrent_drafter.h"
#include "kernels/ops.h"
#include "model/linear.h"

namespace augur {
namespace {

/// How one of the published layouts calls its tensors, behind a prefix that each layer has.
struct MtpLayout {
  std::string_view embedding_norm;
  std::string_view hidden_norm;
  std::string_view projection;
  std::string_view final_norm;
  std::string_view embedding;  ///< optional
  std::string_view head;       ///< optional
  bool norm_state = false;     ///< the head feeds itself what the final norm gives
};

constexpr MtpLayout kDeepSeek{"enorm.weight",
                              "hnorm.weight",
                              "eh_proj",
                              "shared_head.norm.weight",
                              "embed_tokens.weight",
                              "shared_head.head.weight",
                              false};
constexpr MtpLayout kFastMtp{"token_layernorm.weight",
                             "hidden_layernorm.weight",
                             "input_proj",
                             "final_layernorm.weight",
                             "",
                             "",
                             true};

/// The lowest layer that has the layout's projection: "model.layers.8.", "mtp_layers.0.". Empty: none.
std::string find_prefix(const WeightStore& store, const MtpLayout& layout) {
  const std::string suffix = std::string(layout.projection) + ".weight";
  std::string best;
  for (const auto& [name, tensor] : store.tensors()) {
    if (!name.ends_with("." + suffix)) continue;
    const std::string prefix = name.substr(0, name.size() - suffix.size());
    const bool lower = prefix.size() != best.size() ? prefix.size() < best.size() : prefix < best;
    if (best.empty() || lower) best = prefix;
  }
  return best;
}

struct Found {
  const MtpLayout& layout;
  std::string prefix;
};

Found find_layout(const Checkpoint& head) {
  for (const MtpLayout* layout : {&kDeepSeek, &kFastMtp}) {
    if (std::string prefix = find_prefix(head.weights(), *layout); !prefix.empty()) return {*layout, prefix};
  }
  throw Error("{}: no multi-token prediction layer: expected a tensor ...{}.weight or ...{}.weight",
              head.path().string(), kDeepSeek.projection, kFastMtp.projection);
}

/// A multi-token prediction layer (DeepSeek-V3, MiMo, FastMTP): a decoder layer over a projection of
/// [norm(embedding); norm(state)], or of the two in MiMo's order, and a norm before the head. The target's
/// states are those after its final norm.
class MtpHead final : public RecurrentHead {
 public:
  explicit MtpHead(const DrafterSource& source) : MtpHead(source, find_layout(*source.head)) {}

  std::string_view name() const override { return "mtp"; }
  Backend& backend() const override { return layers_->backend(); }
  KvCache make_cache(std::int64_t capacity) const override { return layers_->make_cache(capacity); }

  void project(const float* features, int count, float* states) override {
    target_.final_norm(features, count, states);
  }
  std::span<const float> run(const TokenBatch& batch, const float* states) override;
  HeadWeights exit() const override;
  const float* exit_row(int row) const override { return layers_->result_row(row); }

 private:
  MtpHead(const DrafterSource& source, const Found& found);

  Model& target_;
  float eps_ = 0.0f;
  bool hidden_first_ = false;
  bool norm_state_ = false;
  std::vector<float> embedding_norm_, hidden_norm_, final_norm_;  ///< [state]
  Linear projection_;
  PackedMatrix embedding_, head_;
  bool own_embedding_ = false;
  bool own_head_ = false;
  std::unique_ptr<LayerStack> layers_;

  RowBuffer pair_;             ///< [rows, 2 * state]
  RowBuffer input_;            ///< [rows, state]
  std::vector<float> normed_;  ///< [rows, state] results after the final norm, with norm_state_
};

MtpHead::MtpHead(const DrafterSource& source, const Found& found) : target_(source.target) {
  const auto& [layout, prefix] = found;
  HeadLoader loader(source, {prefix});
  const ModelConfig& config = loader.layers();
  loader.require_hidden(config.hidden, "hidden_size");
  const std::int64_t width = config.hidden;
  eps_ = config.norm_eps;
  norm_state_ = layout.norm_state;
  hidden_first_ = loader.layer_config().find_string("model_type") == "mimo";
  loader.vector(embedding_norm_, prefix + std::string(layout.embedding_norm), width);
  loader.vector(hidden_norm_, prefix + std::string(layout.hidden_norm), width);
  loader.vector(final_norm_, prefix + std::string(layout.final_norm), width);
  projection_.open(loader.packer(), prefix + std::string(layout.projection), width, 2 * width, false);
  loader.open_layers();
  own_embedding_ = !layout.embedding.empty() && loader.has(prefix + std::string(layout.embedding));
  own_head_ = !layout.head.empty() && loader.has(prefix + std::string(layout.head));
  if (own_embedding_) loader.matrix(embedding_, prefix + std::string(layout.embedding), config.vocab, width);
  if (own_head_) loader.matrix(head_, prefix + std::string(layout.head), config.vocab, width);
  // The folder may be that of the whole model.
  loader.pass_over_all_but(prefix);
  layers_ = loader.finish();
  shape_.taps = {loader.target().layers};
  shape_.features = shape_.state = width;
  shape_.vocab = config.vocab;
  pair_ = RowBuffer(DType::F32, 2 * width, 1);
  input_ = RowBuffer(DType::F32, width, PackedMatrix::kPanel);
}

std::span<const float> MtpHead::run(const TokenBatch& batch, const float* states) {
  const std::int64_t width = shape_.state;
  projection_.ensure(batch.rows());
  pair_.ensure(batch.rows());
  input_.ensure(batch.rows());
  backend().pool.run([&](Team& team) {
    const auto pair = [&](std::int64_t r) {
      float* embedding = pair_.floats(r) + (hidden_first_ ? width : 0);
      float* hidden = pair_.floats(r) + (hidden_first_ ? 0 : width);
      const auto token = batch.tokens.subspan(static_cast<std::size_t>(r), 1);
      if (own_embedding_) {
        embedding_.get_row(token[0], embedding);
      } else {
        target_.embed(token, embedding);
      }
      rms_norm(embedding, embedding_norm_.data(), eps_, width, DType::F32, embedding);
      rms_norm(states + r * width, hidden_norm_.data(), eps_, width, DType::F32, hidden);
      return pair_.floats(r);
    };
    projection_.apply(team, backend().kernels, batch.rows(), pair, input_.floats(0), input_.stride());
  });
  const std::span<const float> results = layers_->forward(batch, {.embeddings = input_.floats(0)}, nullptr);
  if (!norm_state_) return results;
  normed_.resize(results.size());
  for (std::int64_t r = 0; r < batch.rows(); ++r) {
    rms_norm(results.data() + r * width, final_norm_.data(), eps_, width, DType::F32,
             normed_.data() + r * width);
  }
  return normed_;
}

HeadWeights MtpHead::exit() const {
  HeadWeights exit = head_of(target_);
  if (own_head_) exit.matrix = &head_;
  if (own_embedding_) exit.embedding = &embedding_;
  exit.norm = final_norm_;
  exit.eps = eps_;
  exit.gives_previous = true;
  return exit;
}

}  // namespace

std::unique_ptr<DrafterModel> load_mtp_drafter(const DrafterSource& source) {
  return make_recurrent_model(std::make_unique<MtpHead>(source), source.vocabulary);
}

}  // namespace augur
