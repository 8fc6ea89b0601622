#include <algorithm>
#include <string_view>

#include "augur/engine.h"
#include "augur/memory_estimate.h"
#include "base/error.h"
#include "base/own_environment.h"
#include "checkpoint/checkpoint.h"
#include "draft/detect.h"
#include "draft/draft_weights.h"
#include "engine/model_content.h"
#include "engine/session_check.h"
#include "files/part_location.h"
#include "files/weight_store.h"
#include "kernels/packed_matrix.h"
#include "model/families.h"
#include "model/model_size.h"

namespace augur {

namespace {

/// Of a token of the vocabulary, in the tokenizer's tables (measured).
constexpr std::int64_t kTokenizerBytes = 160;
/// Of an engine whatever its model: measured costs, policies, threads.
constexpr std::int64_t kFixedBytes = std::int64_t{3} << 20;
/// Rows whose logits are held at once when drafts are verified.
constexpr std::int64_t kLogitRows = 16;

/// What drafts: weights, and caches of a token.
struct DraftSize {
  std::int64_t stored = 0, weights = 0, token = 0;
};

/// A head's, or that of a model's own layers that draft: all matrices whose names begin with `prefix`.
DraftSize head_size(const WeightStore& store, std::string_view prefix, const WeightForm& form,
                    const ModelSize& target) {
  DraftSize size;
  for (const auto& [name, tensor] : store.tensors()) {
    if (!std::string_view(name).starts_with(prefix)) continue;
    size.stored += std::ssize(tensor.bytes);
    const Shape& shape = tensor.shape;
    // The embedding, if there is one, is the target's.
    if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1 || is_integer(tensor.dtype) ||
        name.ends_with("embed_tokens.weight"))
      continue;
    size.weights += PackedMatrix(form.packed_type(tensor.dtype, shape[1]), shape[0], shape[1]).bytes();
    if (name.ends_with("k_proj.weight"))
      size.token += 2 * shape[0] * block_shape(target.cache.shape().type).bytes /
                    block_shape(target.cache.shape().type).elements;
  }
  return size;
}

/// Of the tensors of the model's own layers that only draft.
std::string_view drafting_prefix(const Checkpoint& model) {
  const Family* family = find_family(ModelConfig::from_json(model.config(), model.path().string()).family);
  return family == nullptr ? std::string_view() : family->names.drafting;
}

DraftSize draft_size(const Checkpoint& draft, std::string_view type, const EngineOptions& options,
                     const ModelSize& target) {
  const WeightForm form = unmeasured_form(options.draft_weights, target.float_type);
  if (type != kDraftModelType) {
    const bool in_model = own_drafter_type(draft) == type;
    return head_size(draft.weights(), in_model ? drafting_prefix(draft) : std::string_view(), form, target);
  }
  const ModelSize size = size_of(draft, {.form = form});
  // A draft vocabulary is chosen where there is what it is chosen by; its rows are a copy.
  const bool clusters = !find_part(parts_folder(draft.path()), "dynaspec").empty();
  return {.stored = size.stored_bytes,
          .weights = size.weight_bytes + size.workspace_bytes + (clusters ? size.head_bytes : 0),
          .token = token_bytes(size.cache)};
}

}  // namespace
}  // namespace augur

augur::MemoryEstimate augur::estimate_memory(const EngineOptions& options, int parallel) {
  const OwnEnvironment environment;
  if (parallel < 1 || parallel > Engine::kMostParallel)
    throw Error(refused("parallel"), "{} texts at once: expected 1 to {}", parallel, Engine::kMostParallel);
  const Checkpoint checkpoint = open_model(options.model_content, options.model);
  const ModelSize target =
      size_of(checkpoint, {.weights = options.weights, .kv = options.kv, .context = options.context});
  const std::int64_t logit_rows = options.speculation.plain() ? 1 : kLogitRows;
  MemoryEstimate estimate{
      .mapped = target.stored_bytes,
      .weights = target.weight_bytes,
      .workspace = target.workspace_bytes + kFixedBytes +
                   target.vocab * (kTokenizerBytes + logit_rows * std::int64_t{sizeof(float)}),
      .token = token_bytes(target.cache),
      .text = text_bytes(target.cache, target.context)};
  const auto add = [&](const DraftSize& draft) {
    estimate.mapped += draft.stored;
    estimate.draft_weights += draft.weights;
    estimate.token += draft.token;
    estimate.text += draft.token * target.context;
  };
  const auto add_file = [&](const std::string& path) {
    const Checkpoint draft = Checkpoint::open(path);
    add(draft_size(draft, detect_drafter_type(draft, options.model), options, target));
  };
  if (!options.draft_model.empty()) {
    add_file(options.draft_model);
  } else if (!own_drafter_type(checkpoint).empty() && !options.speculation.plain()) {
    add(head_size(checkpoint.weights(), drafting_prefix(checkpoint),
                  unmeasured_form(options.draft_weights, target.float_type), target));
  }
  for (const EngineOptions::NamedDraftModel& draft : options.draft_models) add_file(draft.path);
  estimate.texts = parallel * estimate.text;
  return estimate;
}

augur::MemoryEstimate augur::estimate_memory(const EngineOptions& options, const SessionOptions& session) {
  check(session);
  MemoryEstimate estimate = estimate_memory(options, session.parallel);
  constexpr std::int64_t kMost = std::int64_t{1} << 60;  // so that sums of estimates are numbers
  estimate.texts = std::min(estimate.texts, kMost);
  estimate.kept = std::min(session.cache_bytes, kMost);
  if (session.memory > 0) {
    estimate.texts = std::min(estimate.texts, session.memory);
    estimate.kept = std::min(estimate.kept, session.memory - estimate.texts);
  }
  return estimate;
}
