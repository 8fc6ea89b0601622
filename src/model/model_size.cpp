#include "model/model_size.h"

#include <algorithm>

#include "kernels/packed_matrix.h"
#include "model/families.h"
#include "model/layer_stack.h"
#include "model/model_choices.h"
#include "model/weights.h"
#include "model/workspace.h"

namespace augur {

namespace {

/// Of a prompt, in one pass (Decoder).
constexpr std::int64_t kPromptRows = 256;

std::int64_t pages_of(std::int64_t slots, std::int64_t page_slots) {
  return (slots + page_slots - 1) / page_slots;
}

}  // namespace

ModelSize size_of(const Checkpoint& checkpoint, const ModelOptions& options) {
  const ModelConfig config = ModelConfig::from_json(checkpoint.config(), checkpoint.path().string());
  const std::int64_t context = choose_context(config, options.context);
  const DType kv_type = choose_kv_type(config, options);
  const WeightForm form = choose_form(options);
  StoredWeights source = stored_model(checkpoint.weights(), config);
  ModelSize size{.weight_bytes = packed_weight_bytes(config, form, source),
                 .workspace_bytes = Workspace(config, 1).estimated_bytes(kPromptRows),
                 .context = context,
                 .vocab = config.vocab,
                 .float_type = form.floats,
                 .cache = KvCache(cache_shape(config, kv_type, context))};
  const TensorNames& names = find_family(config.family)->names;
  const StoredTensor& head =
      *checkpoint.weights().find(config.tied_embeddings ? names.embedding : names.head);
  size.head_bytes =
      PackedMatrix(form.packed_type(head.dtype, config.hidden), config.vocab, config.hidden).bytes();
  for (const auto& [name, tensor] : checkpoint.weights().tensors())
    size.stored_bytes += std::ssize(tensor.bytes);
  return size;
}

std::int64_t text_bytes(const KvCache& form, std::int64_t tokens) {
  std::int64_t bytes = 0;
  form.for_pools([&](const KvPagePool& pool, const KvSpan& span) {
    std::int64_t pages = 1;
    if (span.page_slots > 0) {
      pages = pages_of(tokens, span.page_slots);
      // What is seen may begin and end within pages.
      if (span.window > 0) pages = std::min(pages, pages_of(span.window, span.page_slots) + 2);
    }
    bytes += pages * pool.page_bytes();
  });
  return bytes;
}

std::int64_t token_bytes(const KvCache& form) {
  std::int64_t bytes = 0;
  form.for_pools([&](const KvPagePool& pool, const KvSpan& span) {
    if (span.page_slots > 0 && span.window == 0) bytes += pool.page_bytes() / span.page_slots;
  });
  return bytes;
}

}  // namespace augur
