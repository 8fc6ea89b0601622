#include <algorithm>

#include "base/error.h"
#include "draft/formats/head_loader.h"
#include "draft/recurrent_drafter.h"
#include "draft/registry.h"
#include "model/linear.h"
#include "model/paired_rows.h"
#include "model/row_ops.h"

namespace augur {
namespace {

/// The layers whose entering streams the head reads: ids entered at the top level, ids of outputs (one less)
/// in `eagle_config`, or the paper's low, middle and high ones.
std::vector<int> read_taps(const HeadLoader& loader) {
  constexpr const char* kKey = "eagle_aux_hidden_state_layer_ids";
  const int layers = loader.target().layers;
  const auto nested = loader.config().find_object("eagle_config");
  const bool outputs = loader.config().find(kKey) == nullptr && nested && nested->find(kKey) != nullptr;
  const JsonFields& from = outputs ? *nested : loader.config();
  if (from.find(kKey) != nullptr) return loader.layer_ids(from, kKey, outputs);
  if (layers < 5) from.fail(kKey, fmt::format("missing, and a target of {} layers has no default", layers));
  return {2, layers / 2, layers - 3};
}

/// EAGLE-3 (Li et al., 2025). A state g is fc(the target's auxiliary states) or what the head computed
/// itself; attention reads [norm(embedding); norm(g)], and the residual stream goes on with g. Own norm and,
/// usually, own head over a reduced vocabulary. Variants are told by the configuration:
///   norm_before_residual: the residual stream goes on with norm(g)
///   norm_before_fc: one norm over all auxiliary states; fc_norm: one for each (EAGLE-3.1)
///   norm_output: the head feeds itself what its final norm gives (EAGLE-3.1)
///   mask_token_id, mask_hidden: all depths in one pass (P-EAGLE)
class Eagle3Head final : public RecurrentHead {
 public:
  explicit Eagle3Head(const DrafterSource& source) : target_(source.target) {
    const WeightStore& store = source.head->weights();
    const std::string first =
        store.find("midlayer.hidden_norm.weight") != nullptr ? "midlayer." : "layers.0.";
    HeadLoader loader(source, stored_layers(store, first));
    const ModelConfig& config = loader.layers();
    eps_ = config.norm_eps;
    shape_.state = config.hidden;
    shape_.taps = read_taps(loader);
    if (const auto hidden = loader.config().find_int("target_hidden_size", 1 << 20)) {
      loader.require_hidden(*hidden, "target_hidden_size");
    }
    shape_.features = std::ssize(shape_.taps) * loader.target().hidden;
    open_entrance(loader, first);
    open_exit(loader);
    open_placeholders(loader);
    layers_ = loader.finish();
    if (shape_.placeholders > 0) {
      placeholder_state_.resize(static_cast<std::size_t>(shape_.state));
      project(mask_hidden_.data(), 1, placeholder_state_.data());
    }
  }

  std::string_view name() const override { return "eagle3"; }
  Backend& backend() const override { return layers_->backend(); }
  KvCache make_cache(std::int64_t capacity) const override { return layers_->make_cache(capacity); }
  std::span<const float> placeholder_state() const override { return placeholder_state_; }

  void project(const float* features, int count, float* states) override;
  std::span<const float> run(const TokenBatch& batch, const float* states) override;
  HeadWeights exit() const override;
  const float* exit_row(int row) const override { return layers_->result_row(row); }

 private:
  void open_entrance(HeadLoader& loader, const std::string& first);
  void open_exit(HeadLoader& loader);
  void open_placeholders(HeadLoader& loader);
  /// The rows that fc reads, made from rows of features: [count, features].
  const float* prepare(const float* features, int count);

  Model& target_;
  float eps_ = 0.0f;
  std::vector<float> input_norm_;            ///< [features] with norm_before_fc
  std::vector<std::vector<float>> fc_norm_;  ///< [taps][target hidden] with fc_norm
  Linear fc_;
  std::vector<float> embedding_norm_, hidden_norm_;  ///< [state]
  bool norm_before_residual_ = false;
  bool norm_output_ = false;
  PackedMatrix embedding_;  ///< [target vocabulary, state]; not valid: the target's
  PackedMatrix head_;       ///< [draft vocabulary, state]; not valid: the target's
  bool own_embedding_ = false;
  bool own_head_ = false;
  std::vector<float> norm_;  ///< [state] before the head; empty: none
  std::vector<float> mask_hidden_;
  std::vector<float> placeholder_state_;
  std::unique_ptr<LayerStack> layers_;

  std::vector<float> prepared_;  ///< [rows, features]
  PairedRows pairs_;             ///< embedding and state
  std::vector<float> residual_;  ///< [rows, state]
  std::vector<float> normed_;    ///< [rows, state] results after the norm
};

void Eagle3Head::open_entrance(HeadLoader& loader, const std::string& first) {
  const std::int64_t width = shape_.state;
  if (loader.config().flag("norm_before_fc", loader.has("input_norm.weight"))) {
    loader.vector(input_norm_, "input_norm.weight", shape_.features);
  }
  if (loader.config().flag("fc_norm", loader.has("fc_norm.0.weight"))) {
    fc_norm_.resize(shape_.taps.size());
    for (std::size_t i = 0; i < fc_norm_.size(); ++i) {
      loader.vector(fc_norm_[i], fmt::format("fc_norm.{}.weight", i), loader.target().hidden);
    }
  }
  fc_.open(loader.packer(), "fc", width, shape_.features, loader.has("fc.bias"));
  norm_before_residual_ = loader.config().flag("norm_before_residual");
  loader.vector(embedding_norm_, first + "input_layernorm.weight", width);
  loader.vector(hidden_norm_, first + "hidden_norm.weight", width);
  loader.open_layers({.attention_norm = false, .attention_inputs = 2 * width});
  own_embedding_ = loader.has("embed_tokens.weight");
  if (own_embedding_) {
    loader.matrix(embedding_, "embed_tokens.weight", loader.target().vocab, width);
  } else {
    loader.require_hidden(width, "hidden_size (the head has no embedding of its own)");
  }
}

void Eagle3Head::open_exit(HeadLoader& loader) {
  const JsonFields& config = loader.config();
  norm_output_ = config.flag("norm_output");
  // SpecForge's use of that key: false, and no norm stored, means that there is none before the head.
  const bool no_norm = config.find("norm_output") != nullptr && !norm_output_ && !loader.has("norm.weight");
  if (!no_norm) loader.vector(norm_, "norm.weight", shape_.state);
  own_head_ = loader.has("lm_head.weight");
  if (own_head_) {
    shape_.vocab = loader.rows_of("lm_head.weight");
    if (const auto size = config.find_int("draft_vocab_size", 1 << 24); size && *size != shape_.vocab) {
      config.fail("draft_vocab_size", fmt::format("is {}, lm_head.weight has {} rows", *size, shape_.vocab));
    }
    loader.matrix(head_, "lm_head.weight", shape_.vocab, shape_.state);
    shape_.target_ids = loader.target_ids(shape_.vocab);
  } else {
    loader.require_hidden(shape_.state, "hidden_size (the head has no lm_head of its own)");
    shape_.vocab = loader.target().vocab;
    loader.pass_over("d2t");
    loader.pass_over("t2d");
  }
  // Copies of the target's that some tools store along.
  loader.pass_over("verifier_lm_head.weight");
  loader.pass_over("verifier_norm.weight");
}

void Eagle3Head::open_placeholders(HeadLoader& loader) {
  if (!loader.has("mask_hidden")) return;
  const auto token = loader.config().find("mask_token_id");
  if (token == nullptr || !token->is_number_unsigned() || *token >= loader.target().vocab) {
    loader.config().fail("mask_token_id", "expected a token of the target, for the stored mask_hidden");
  }
  constexpr int kPlaceholders = 7;
  shape_.placeholders = kPlaceholders;
  shape_.placeholder_token = token->get<TokenId>();
  loader.tensor(mask_hidden_, "mask_hidden", {1, 1, shape_.features});
}

const float* Eagle3Head::prepare(const float* features, int count) {
  if (input_norm_.empty() && fc_norm_.empty()) return features;
  const std::int64_t stride = shape_.features;
  prepared_.resize(static_cast<std::size_t>(count * stride));
  if (!input_norm_.empty()) {
    norm_rows(backend(), {features, stride}, count, input_norm_, eps_, prepared_.data(), stride);
    features = prepared_.data();
  }
  for (std::size_t i = 0; i < fc_norm_.size(); ++i) {
    const auto part = static_cast<std::int64_t>(i) * target_.config().hidden;
    norm_rows(backend(), {features + part, stride}, count, fc_norm_[i], eps_, prepared_.data() + part,
              stride);
  }
  return prepared_.data();
}

void Eagle3Head::project(const float* features, int count, float* states) {
  const float* prepared = prepare(features, count);
  fc_.run(backend(), count, [&](std::int64_t r) { return prepared + r * shape_.features; });
  std::copy_n(fc_.joined_out(count), count * shape_.state, states);
}

std::span<const float> Eagle3Head::run(const TokenBatch& batch, const float* states) {
  const std::int64_t width = shape_.state;
  pairs_.fill(layers_->device(),
              {.embedding = own_embedding_ ? &embedding_ : &target_.embedding(),
               .embedding_norm = embedding_norm_,
               .state_norm = hidden_norm_,
               .eps = eps_},
              batch.tokens, states);
  if (norm_before_residual_) {
    residual_.resize(static_cast<std::size_t>(batch.rows() * width));
    for (std::int64_t r = 0; r < batch.rows(); ++r) {
      std::copy_n(pairs_.state(r), width, residual_.data() + r * width);
    }
    states = residual_.data();
  }
  layers_->forward(batch, {.embeddings = states, .attention_input = pairs_.row(0)}, nullptr);
  const std::span<const float> results = layers_->result();
  if (!norm_output_) return results;
  normed_.resize(results.size());
  norm_rows(backend(), {results.data(), width}, batch.rows(), norm_, eps_, normed_.data(), width);
  return normed_;
}

HeadWeights Eagle3Head::exit() const {
  HeadWeights exit = head_of(target_);
  if (own_head_) {
    exit.matrix = &head_;
    exit.form = {};
  }
  if (own_embedding_) exit.embedding = &embedding_;
  exit.norm = norm_;
  exit.eps = eps_;
  exit.gives_previous = true;
  return exit;
}

}  // namespace

/// EAGLE-3 heads and their kin: the official layout and that of speculators and vLLM, EAGLE-3.1, P-EAGLE.
std::unique_ptr<DrafterModel> load_eagle3_drafter(const DrafterSource& source) {
  return make_recurrent_model(std::make_unique<Eagle3Head>(source), source.vocabulary);
}

}  // namespace augur
