#include "model/weights.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/quant_panel.h"
#include "model/families.h"
#include "model/weight_packer.h"

namespace augur {

namespace {

/// A model in 8 bits is taken for its quality. Most of what 8-bit activations cost it they cost in queries,
/// keys and values and in the head (docs/quantisation.md), so these take finer ones.
void refine_eight_bits(ModelWeights& weights) {
  const auto eight = [](const PackedMatrix& m) { return m.type() == DType::Q8_0; };
  for (const LayerWeights& layer : weights.layers) {
    if (!std::all_of(layer.qkv.matrices.begin(), layer.qkv.matrices.end(), eight)) return;
  }
  for (LayerWeights& layer : weights.layers) {
    for (PackedMatrix& matrix : layer.qkv.matrices) matrix.take_fine_rows();
  }
  PackedMatrix& head = weights.tied ? weights.embedding : weights.head;
  if (eight(head)) head.take_fine_rows();
}

/// Asks for all tensors. `weights` must stay where it is until they are packed.
void open_weights(WeightPacker& packer, const ModelConfig& config, ModelWeights& weights) {
  const Family* family = find_family(config.family);
  if (family == nullptr)
    throw Error(ErrorKind::Unsupported, "model family {:?} is not supported", config.family);
  const TensorNames& names = family->names;
  weights.tied = config.tied_embeddings;
  packer.norm(weights.final_norm, std::string(names.final_norm), config.hidden, config.norm_offset);
  packer.matrix(weights.embedding, std::string(names.embedding), config.vocab, config.hidden);
  packer.reserve(weights.embedding, config.vocab, config.hidden);
  if (!weights.tied) {
    packer.matrix(weights.head, std::string(names.head), config.vocab, config.hidden);
    packer.reserve(weights.head, config.vocab, config.hidden);
  }
  weights.layers.resize(static_cast<std::size_t>(config.layers));
  for (int i = 0; i < config.layers; ++i) {
    pack_layer(packer, config, i, fmt::format(fmt::runtime(names.layer), i),
               weights.layers[static_cast<std::size_t>(i)]);
  }
  refine_eight_bits(weights);
}

}  // namespace

DType WeightForm::packed_type(std::int64_t k) const {
  return quantize && k % block_shape(*quantize).elements == 0 ? *quantize : floats;
}

DType WeightForm::packed_type(DType stored, std::int64_t k) const {
  return native && quant_kind(stored) ? stored : packed_type(k);
}

StoredWeights stored_model(const WeightStore& store, const ModelConfig& config) {
  StoredWeights source(store, config.tied_embeddings);
  const Family* family = find_family(config.family);
  if (family != nullptr && (family->delta || family->single_blocks))
    source.pass_over_all(family->names.drafting);
  return source;
}

std::int64_t packed_weight_bytes(const ModelConfig& config, WeightForm form, WeightSource& source) {
  WeightPacker packer(form, source);
  ModelWeights weights;
  open_weights(packer, config, weights);
  return packer.reserved_bytes();
}

ModelWeights pack_weights(ThreadPool& pool, const ModelConfig& config, WeightForm form, WeightSource& source,
                          const std::function<void(double)>& progress) {
  WeightPacker packer(form, source);
  ModelWeights weights;
  open_weights(packer, config, weights);
  source.all_opened();
  packer.run(pool, progress);
  return weights;
}

}  // namespace augur
