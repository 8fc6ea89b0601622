#include "model/weights.h"

#include <unistd.h>

#include "base/error.h"
#include "model/families.h"
#include "model/weight_packer.h"

namespace augur {

namespace {

void check_memory(const ModelConfig& config, DType type) {
  const auto pages = sysconf(_SC_PHYS_PAGES);
  const auto page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return;
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  const double needed = static_cast<double>(config.matrix_elements()) * block_shape(type).bytes;
  const double present = static_cast<double>(pages) * static_cast<double>(page_bytes);
  if (needed > present) {
    throw Error("the model's weights take {:.1f} GiB as {}, this machine has {:.1f} GiB of memory",
                needed / kGiB, name(type), present / kGiB);
  }
}

}  // namespace

ModelWeights pack_weights(ThreadPool& pool, const ModelConfig& config, DType type, WeightSource& source,
                          const std::function<void(double)>& progress) {
  check_memory(config, type);
  const Family* family = find_family(config.family);
  if (family == nullptr) throw Error("model family {:?} is not supported", config.family);
  const TensorNames& names = family->names;
  WeightPacker packer(type, source);
  ModelWeights weights;
  weights.tied = config.tied_embeddings;
  packer.vector(weights.final_norm, std::string(names.final_norm), config.hidden);
  packer.matrix(weights.embedding, std::string(names.embedding), config.vocab, config.hidden);
  weights.embedding = packer.make(config.vocab, config.hidden);
  if (!weights.tied) {
    packer.matrix(weights.head, std::string(names.head), config.vocab, config.hidden);
    weights.head = packer.make(config.vocab, config.hidden);
  }
  weights.layers.resize(static_cast<std::size_t>(config.layers));
  for (int i = 0; i < config.layers; ++i) {
    pack_layer(packer, config, fmt::format(fmt::runtime(names.layer), i),
               weights.layers[static_cast<std::size_t>(i)]);
  }
  source.all_opened();
  packer.run(pool, progress);
  return weights;
}

}  // namespace augur
