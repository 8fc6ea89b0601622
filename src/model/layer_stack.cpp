#include "model/layer_stack.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "kernels/attention.h"

namespace augur {

namespace {

/// Width of the first attention's input where it is not that of the residual stream, or may not be.
std::int64_t attention_inputs(const std::vector<LayerWeights>& layers, const ModelConfig& config) {
  if (layers.empty() || layers[0].qkv.k() == config.hidden) return 0;
  return layers[0].qkv.k();
}

std::vector<InputForm> input_forms(const std::vector<LayerWeights>& layers) {
  std::vector<InputForm> forms;
  const auto add = [&](InputForm form) {
    if (std::find(forms.begin(), forms.end(), form) == forms.end()) forms.push_back(form);
  };
  for (const LayerWeights& layer : layers) {
    for_each_matrix(layer, {}, [&](const PackedMatrix& m, double) { add(m.input_form()); });
  }
  return forms;
}

}  // namespace

LayerStack::LayerStack(Backend& backend, const ModelConfig& config, DType kv_type, std::int64_t context,
                       std::vector<LayerWeights> layers)
    : LayerStack(backend, config, kv_type, context,
                 std::make_shared<const std::vector<LayerWeights>>(std::move(layers))) {}

LayerStack::LayerStack(Backend& backend, const ModelConfig& config, DType kv_type, std::int64_t context,
                       std::shared_ptr<const std::vector<LayerWeights>> layers)
    : backend_(backend),
      config_(config),
      kv_type_(kv_type),
      context_(context),
      layers_(std::move(layers)),
      input_forms_(input_forms(*layers_)),
      workspace_(config, backend.pool.size(), attention_inputs(*layers_, config)) {
  for (const LayerSpec& kind : config_.kinds) {
    ropes_.emplace_back(make_rope_table(kind.rope, config.head_dim, context), context);
  }
}

void LayerStack::ensure_rotations(std::int64_t positions) {
  for (RopeCache& rope : ropes_) rope.ensure(positions);
}

std::int64_t LayerStack::bytes() const {
  double bytes = 0;
  for (int i = 0; i < config_.layers; ++i) {
    for_each_matrix(
        (*layers_)[static_cast<std::size_t>(i)], config_.layer(i),
        [&](const PackedMatrix& m, double share) { bytes += share * static_cast<double>(m.bytes()); });
  }
  return static_cast<std::int64_t>(bytes);
}

KvCache LayerStack::make_cache(std::int64_t capacity) const {
  if (capacity < 0 || capacity > context_) {
    throw Error("a cache for {} tokens was asked for, the context is {}", capacity, context_);
  }
  KvCache::Shape shape{.layers = config_.layers,
                       .kv_heads = config_.kv_heads,
                       .head_dim = config_.head_dim,
                       .capacity = capacity > 0 ? capacity : context_,
                       .type = kv_type_};
  for (int i = 0; i < config_.layers; ++i) {
    shape.windowed.push_back(config_.layer(i).window > 0 ? 1 : 0);
    shape.window = std::max(shape.window, config_.layer(i).window);
  }
  if (shape.window == 0) shape.windowed.clear();
  if (!pages_.whole && !pages_.windowed) pages_ = KvCache::make_pools(shape);
  return KvCache(shape, pages_);
}

void LayerStack::check_options(const TokenBatch& batch, const ForwardOptions& options,
                               bool has_embedding) const {
  const int last = options.last_layer < 0 ? config_.layers : options.last_layer;
  if (options.first_layer < 0 || options.first_layer > last || last > config_.layers) {
    throw Error("forward: layers {} to {} of {}", options.first_layer, last, config_.layers);
  }
  if (options.first_layer > 0 && options.input == nullptr) {
    throw Error("forward: layer {} on was asked for without its input", options.first_layer);
  }
  if (options.first_layer == 0 && options.embeddings == nullptr && !has_embedding) {
    throw Error("forward: these layers have no embedding, and no rows were given");
  }
  const bool wide = workspace_.given_inputs.stride() > 0 && options.first_layer == 0;
  if (wide != (options.attention_input != nullptr)) {
    throw Error("forward: the first attention's input {}", wide ? "is missing" : "cannot be given here");
  }
  if (options.inputs != nullptr) {
    for (const InputForm form : input_forms_) {
      if (form != InputForm::F32 && form != InputForm::BF16)
        throw Error("forward: products read rows of {}, their inputs can be observed with weights of floats",
                    name(form));
    }
  }
  for (const Tap& tap : options.taps) {
    if (tap.layer < options.first_layer || tap.layer > last || tap.out == nullptr ||
        (tap.out_stride < config_.hidden && batch.rows() > 1)) {
      throw Error("forward: tap at layer {} (layers {} to {} are run), stride {}", tap.layer,
                  options.first_layer, last, tap.out_stride);
    }
  }
}

std::span<const float> LayerStack::forward(const TokenBatch& batch, const ForwardOptions& options,
                                           const PackedMatrix* embedding) {
  check_options(batch, options, embedding != nullptr);
  plan_.build(batch, config_, kv_type_, context_, options.block);
  ensure_rotations(plan_.max_position() + 1);
  workspace_.ensure_forward(batch.rows(), input_forms_,
                            attention_scratch_bytes(plan_.max_slots(), config_.heads / config_.kv_heads,
                                                    config_.head_dim, kv_type_));
  workspace_.woken_experts = 0;
  const ForwardPass pass({.config = config_,
                          .layers = *layers_,
                          .embedding = embedding,
                          .kernels = backend_.kernels,
                          .ropes = ropes_,
                          .plan = plan_,
                          .workspace = workspace_},
                         batch, options);
  backend_.pool.run([&](Team& team) { pass.run(team); });
  result_rows_ = batch.rows();
  const bool padded = workspace_.residual.stride() != workspace_.unpadded_residual.stride();
  const RowBuffer& result = padded ? workspace_.unpadded_residual : workspace_.residual;
  return {result.floats(0),
          static_cast<std::size_t>(batch.rows()) * static_cast<std::size_t>(config_.hidden)};
}

void LayerStack::store(const TokenBatch& batch, const float* rows) {
  if (workspace_.given_inputs.stride() > 0)
    throw Error("forward: these layers have an entrance of their own");
  plan_.build(batch, config_, kv_type_, context_);
  ensure_rotations(plan_.max_position() + 1);
  workspace_.ensure_forward(batch.rows(), input_forms_, 0);
  const ForwardOptions options;
  const ForwardPass pass({.config = config_,
                          .layers = *layers_,
                          .embedding = nullptr,
                          .kernels = backend_.kernels,
                          .ropes = ropes_,
                          .plan = plan_,
                          .workspace = workspace_},
                         batch, options);
  backend_.pool.run([&](Team& team) { pass.store(team, rows); });
}

}  // namespace augur
