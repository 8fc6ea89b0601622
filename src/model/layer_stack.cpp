#include "model/layer_stack.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "model/recurrent_memory.h"

namespace augur {

namespace {

std::shared_ptr<const std::vector<LayerWeights>> taken(Device& device, std::vector<LayerWeights> layers) {
  for (LayerWeights& layer : layers) {
    for_each_matrix(layer, {}, [&](PackedMatrix& matrix, double) { device.take(matrix); });
  }
  return std::make_shared<const std::vector<LayerWeights>>(std::move(layers));
}

}  // namespace

std::int64_t LayerStack::attention_inputs(const std::vector<LayerWeights>& layers,
                                          const ModelConfig& config) {
  if (layers.empty() || layers[0].qkv.matrices.empty() || layers[0].qkv.k() == config.hidden) return 0;
  return layers[0].qkv.k();
}

LayerStack::LayerStack(Device& device, const ModelConfig& config, DType kv_type, std::int64_t context,
                       std::vector<LayerWeights> layers)
    : LayerStack(device, config, kv_type, context, taken(device, std::move(layers))) {}

LayerStack::LayerStack(Device& device, const ModelConfig& config, DType kv_type, std::int64_t context,
                       std::shared_ptr<const std::vector<LayerWeights>> layers)
    : device_(device),
      config_(config),
      kv_type_(kv_type),
      context_(context),
      layers_(std::move(layers)),
      has_entrance_(attention_inputs(*layers_, config_) > 0),
      stack_(device.make_stack(
          {.config = config_, .kv_type = kv_type_, .context = context_, .layers = layers_})),
      product_(device.make_product()) {}

std::int64_t LayerStack::bytes() const {
  double bytes = 0;
  for (int i = 0; i < config_.layers; ++i) {
    for_each_matrix(
        (*layers_)[static_cast<std::size_t>(i)], config_.layer(i),
        [&](const PackedMatrix& m, double share) { bytes += share * static_cast<double>(m.bytes()); });
  }
  return static_cast<std::int64_t>(bytes);
}

KvCache::Shape cache_shape(const ModelConfig& config, DType kv_type, std::int64_t capacity) {
  KvCache::Shape shape{.layers = config.layers,
                       .kv_heads = config.kv_heads,
                       .head_dim = config.head_dim,
                       .capacity = capacity,
                       .type = kv_type};
  for (int i = 0; i < config.layers; ++i) {
    const LayerSpec& layer = config.layer(i);
    const bool recurrent = layer.recurs();
    shape.windowed.push_back(layer.sight() > 0 ? 1 : 0);
    shape.window = std::max(shape.window, layer.sight());
    shape.keeps_nothing.push_back(layer.mixes() ? 0 : 1);
    shape.row_floats.push_back(layer.conv.taps > 0 ? config.hidden : 0);
    shape.state_floats.push_back(
        recurrent ? static_cast<std::int32_t>(RecurrentMemory(layer.recurrent).state_floats()) : 0);
    shape.record_floats.push_back(
        recurrent ? static_cast<std::int32_t>(RecurrentMemory(layer.recurrent).record_floats()) : 0);
  }
  if (shape.window == 0) shape.windowed.clear();
  if (std::ranges::find(shape.keeps_nothing, 1) == shape.keeps_nothing.end()) shape.keeps_nothing.clear();
  if (config.conv().taps == 0) shape.row_floats.clear();
  if (config.recurrent().key_heads == 0) {
    shape.state_floats.clear();
    shape.record_floats.clear();
  }
  return shape;
}

KvCache LayerStack::make_cache(std::int64_t capacity) const {
  if (capacity < 0 || capacity > context_) {
    throw Error(ErrorKind::ContextFull, "a cache for {} tokens was asked for, the context is {}", capacity,
                context_);
  }
  const KvCache::Shape shape = cache_shape(config_, kv_type_, capacity > 0 ? capacity : context_);
  if (!pages_.whole && !pages_.windowed && !pages_.states)
    pages_ = KvCache::make_pools(shape, device_.memory());
  return KvCache(shape, pages_);
}

void LayerStack::check_options(const TokenBatch& batch, const ForwardOptions& options,
                               bool has_embedding) const {
  const int last = options.last_layer < 0 ? config_.layers : options.last_layer;
  if (options.first_layer < 0 || options.first_layer > last || last > config_.layers) {
    throw Error(ErrorKind::Internal, "forward: layers {} to {} of {}", options.first_layer, last,
                config_.layers);
  }
  if (options.first_layer > 0 && options.input == nullptr) {
    throw Error(ErrorKind::Internal, "forward: layer {} on was asked for without its input",
                options.first_layer);
  }
  if (options.first_layer == 0 && options.embeddings == nullptr && !has_embedding) {
    throw Error(ErrorKind::Internal, "forward: these layers have no embedding, and no rows were given");
  }
  const bool wide = has_entrance_ && options.first_layer == 0;
  if (wide != (options.attention_input != nullptr)) {
    throw Error(ErrorKind::Internal, "forward: the first attention's input {}",
                wide ? "is missing" : "cannot be given here");
  }
  for (const Tap& tap : options.taps) {
    if (tap.layer < options.first_layer || tap.layer > last || tap.out == nullptr ||
        (tap.out_stride < config_.hidden && batch.rows() > 1)) {
      throw Error(ErrorKind::Internal, "forward: tap at layer {} (layers {} to {} are run), stride {}",
                  tap.layer, options.first_layer, last, tap.out_stride);
    }
  }
}

void LayerStack::forward(const TokenBatch& batch, const ForwardOptions& options,
                         const PackedMatrix* embedding) {
  check_options(batch, options, embedding != nullptr);
  layout_.build(batch, config_, kv_type_, context_, options.block);
  stack_->forward(layout_, batch, options, embedding);
  const int last = options.last_layer < 0 ? config_.layers : options.last_layer;
  for (const TokenBatch::Sequence& sequence : batch.sequences)
    sequence.kv->set_folded(options.first_layer, last);
  result_rows_ = batch.rows();
}

void LayerStack::store(const TokenBatch& batch, const float* rows) {
  if (has_entrance_) throw Error(ErrorKind::Internal, "forward: these layers have an entrance of their own");
  if (config_.attention_layers() < config_.layers)
    throw Error(ErrorKind::Internal, "forward: layers without attention cannot be given keys and values");
  layout_.build(batch, config_, kv_type_, context_);
  stack_->store(layout_, batch, rows);
}

void LayerStack::project_rows(const RowProduct& product, const float* hidden, int count) {
  rows_.clear();
  for (int r = 0; r < count; ++r) rows_.push_back(hidden + std::int64_t{r} * config_.hidden);
  product_->run(product, rows_);
}

}  // namespace augur
