#include "base/error.h"
#include "draft/formats/head_loader.h"
#include "draft/recurrent_drafter.h"
#include "draft/registry.h"
#include "model/linear.h"
#include "model/paired_rows.h"
#include "model/row_ops.h"

namespace augur {
namespace {

/// How one of the published layouts calls its tensors, behind a prefix: each layer's, or that of all.
struct MtpLayout {
  std::string_view embedding_norm;
  std::string_view hidden_norm;
  std::string_view projection;
  std::string_view final_norm;
  std::string_view embedding;  ///< optional
  std::string_view head;       ///< optional
  std::string_view layers;  ///< the decoder layers', a number and a dot behind it; empty: it has the prefix
  bool norm_state = false;  ///< the head feeds itself what the final norm gives
};

constexpr MtpLayout kDeepSeek{"enorm.weight",
                              "hnorm.weight",
                              "eh_proj",
                              "shared_head.norm.weight",
                              "embed_tokens.weight",
                              "shared_head.head.weight",
                              "",
                              false};
constexpr MtpLayout kFastMtp{"token_layernorm.weight",
                             "hidden_layernorm.weight",
                             "input_proj",
                             "final_layernorm.weight",
                             "",
                             "",
                             "",
                             true};
/// Qwen3-Next's and Qwen3.5's, in the files of the model: "mtp.". GGUF's names (`nextn`) become these.
constexpr MtpLayout kQwen{"pre_fc_norm_embedding.weight",
                          "pre_fc_norm_hidden.weight",
                          "fc",
                          "norm.weight",
                          "embed_tokens.weight",
                          "lm_head.weight",
                          "layers.",
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

  std::string at(std::string_view name) const { return prefix + std::string(name); }
  /// What the layer's names begin with. Of several that the head may be run with, one behind the other, it is
  /// the first: each is trained on the tokens behind those before.
  std::string layer() const { return layout.layers.empty() ? prefix : at(layout.layers) + "0."; }
};

Found find_layout(const Checkpoint& head) {
  for (const MtpLayout* layout : {&kDeepSeek, &kFastMtp, &kQwen}) {
    if (std::string prefix = find_prefix(head.weights(), *layout); !prefix.empty()) return {*layout, prefix};
  }
  throw Error(
      "{}: no multi-token prediction layer: expected a tensor ...{}.weight, ...{}.weight or mtp.{}.weight",
      head.path().string(), kDeepSeek.projection, kFastMtp.projection, kQwen.projection);
}

/// A multi-token prediction layer (DeepSeek-V3, MiMo, FastMTP, Qwen3.5): a decoder layer over a projection of
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

  PairedRows pairs_;           ///< embedding and state
  std::vector<float> normed_;  ///< [rows, state] results after the final norm, with norm_state_
};

MtpHead::MtpHead(const DrafterSource& source, const Found& found) : target_(source.target) {
  const MtpLayout& layout = found.layout;
  HeadLoader loader(source, {found.layer()});
  const ModelConfig& config = loader.layers();
  loader.require_hidden(config.hidden, "hidden_size");
  const std::int64_t width = config.hidden;
  eps_ = config.norm_eps;
  norm_state_ = layout.norm_state;
  hidden_first_ = loader.layer_config().find_string("model_type") == "mimo";
  loader.norm(embedding_norm_, found.at(layout.embedding_norm), width);
  loader.norm(hidden_norm_, found.at(layout.hidden_norm), width);
  loader.norm(final_norm_, found.at(layout.final_norm), width);
  projection_.open(loader.packer(), found.at(layout.projection), width, 2 * width, false);
  loader.open_layers();
  own_embedding_ = !layout.embedding.empty() && loader.has(found.at(layout.embedding));
  own_head_ = !layout.head.empty() && loader.has(found.at(layout.head));
  if (own_embedding_) loader.matrix(embedding_, found.at(layout.embedding), config.vocab, width);
  if (own_head_) loader.matrix(head_, found.at(layout.head), config.vocab, width);
  // The folder may be that of the whole model, and have further layers.
  loader.pass_over_all_but(found.prefix);
  if (!layout.layers.empty()) loader.pass_over_all_but(found.layer(), found.at(layout.layers));
  layers_ = loader.finish();
  shape_.taps = {loader.target().layers};
  shape_.features = shape_.state = width;
  shape_.vocab = config.vocab;
}

std::span<const float> MtpHead::run(const TokenBatch& batch, const float* states) {
  const std::int64_t width = shape_.state;
  pairs_.fill(layers_->device(),
              {.embedding = own_embedding_ ? &embedding_ : &target_.embedding(),
               .embedding_norm = embedding_norm_,
               .state_norm = hidden_norm_,
               .eps = eps_,
               .state_first = hidden_first_},
              batch.tokens, states);
  projection_.run(backend(), batch.rows(), [&](std::int64_t r) { return pairs_.row(r); });
  layers_->forward(batch, {.embeddings = projection_.joined_out(batch.rows())}, nullptr);
  const std::span<const float> results = layers_->result();
  if (!norm_state_) return results;
  normed_.resize(results.size());
  norm_rows(backend(), {results.data(), width}, batch.rows(), final_norm_, eps_, normed_.data(), width);
  return normed_;
}

HeadWeights MtpHead::exit() const {
  HeadWeights exit = head_of(target_);
  if (own_head_) {
    exit.matrix = &head_;
    exit.form = {};
  }
  if (own_embedding_) exit.embedding = &embedding_;
  exit.norm = final_norm_;
  exit.eps = eps_;
  exit.gives_previous = true;
  return exit;
}

}  // namespace

/// Multi-token prediction layers in the layouts of DeepSeek-V3, MiMo, FastMTP and Qwen3.5.
std::unique_ptr<DrafterModel> load_mtp_drafter(const DrafterSource& source) {
  return make_recurrent_model(std::make_unique<MtpHead>(source), source.vocabulary);
}

}  // namespace augur
