#include "model/model.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "base/error.h"
#include "kernels/ops.h"
#include "model/batch_plan.h"
#include "model/forward_pass.h"
#include "model/rope_cache.h"
#include "model/weights.h"
#include "model/workspace.h"

namespace augur {

namespace {

std::int64_t choose_context(const ModelConfig& config, std::int64_t asked) {
  if (asked < 0) throw Error("a context of {} tokens was asked for", asked);
  const std::int64_t limit = std::max(config.context_limit, config.max_context);
  if (asked > limit) {
    throw Error(
        "a context of {} tokens was asked for, the model's limit is {}{}", asked, limit,
        config.sliding_window == limit ? " (its attention window; longer contexts are not supported)" : "");
  }
  return asked > 0 ? asked : config.max_context;
}

DType choose_type(WeightType type) {
  return type == WeightType::F32 ? DType::F32 : DType::BF16;
}

}  // namespace

std::string_view name(ForwardProfile::Step step) {
  switch (step) {
    case ForwardProfile::Embed:
      return "embed";
    case ForwardProfile::Norm:
      return "norm";
    case ForwardProfile::Qkv:
      return "qkv";
    case ForwardProfile::Rope:
      return "rope";
    case ForwardProfile::Attention:
      return "attention";
    case ForwardProfile::Output:
      return "output";
    case ForwardProfile::GateUp:
      return "gate_up";
    case ForwardProfile::Down:
      return "down";
    case ForwardProfile::Wait:
      return "wait";
  }
  return "";
}

struct Model::Impl {
  Impl(Backend& where, const ModelConfig& shape, const ModelOptions& options, WeightSource& source)
      : backend(where),
        config(shape),
        type(choose_type(options.weights)),
        context(choose_context(config, options.context)),
        weights(pack_weights(backend.pool, config, type, source, options.progress)),
        rope(make_rope_table(config.rope, config.head_dim, context), context),
        workspace(config, type, backend.pool.size()) {}

  void check_options(const TokenBatch& batch, const ForwardOptions& options) const;
  template <class RowOf>
  void project(int count, bool normed, float* out, std::int64_t out_stride, const RowOf& row);

  Backend& backend;
  const ModelConfig config;
  const DType type;
  const std::int64_t context;
  const ModelWeights weights;
  RopeCache rope;
  Workspace workspace;
  BatchPlan plan;
  int result_rows = 0;  ///< of the last forward
};

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::~Model() = default;

std::unique_ptr<Model> Model::load(Backend& backend, const Checkpoint& checkpoint,
                                   const ModelOptions& options) {
  const ModelConfig config = ModelConfig::from_json(checkpoint.config(), checkpoint.path().string());
  StoredWeights source(checkpoint.weights(), config.tied_embeddings);
  return std::unique_ptr<Model>(new Model(std::make_unique<Impl>(backend, config, options, source)));
}

std::unique_ptr<Model> Model::random(Backend& backend, const ModelConfig& config, std::uint64_t seed,
                                     const ModelOptions& options) {
  RandomWeights source(seed);
  return std::unique_ptr<Model>(new Model(std::make_unique<Impl>(backend, config, options, source)));
}

const ModelConfig& Model::config() const {
  return impl_->config;
}
DType Model::weight_type() const {
  return impl_->type;
}
std::int64_t Model::context() const {
  return impl_->context;
}
Backend& Model::backend() const {
  return impl_->backend;
}

std::int64_t Model::weight_bytes() const {
  std::int64_t bytes = impl_->weights.lm_head().bytes();
  for (const LayerWeights& layer : impl_->weights.layers) {
    bytes += layer.qkv.bytes() + layer.o.bytes() + layer.gate_up.bytes() + layer.down.bytes();
  }
  return bytes;
}

KvCache Model::make_cache(std::int64_t capacity) const {
  const ModelConfig& config = impl_->config;
  if (capacity < 0 || capacity > impl_->context) {
    throw Error("a cache for {} tokens was asked for, the context is {}", capacity, impl_->context);
  }
  return KvCache({.layers = config.layers,
                  .kv_heads = config.kv_heads,
                  .head_dim = config.head_dim,
                  .capacity = capacity > 0 ? capacity : impl_->context,
                  .type = impl_->type});
}

void Model::Impl::check_options(const TokenBatch& batch, const ForwardOptions& options) const {
  const int last = options.last_layer < 0 ? config.layers : options.last_layer;
  if (options.first_layer < 0 || options.first_layer > last || last > config.layers) {
    throw Error("forward: layers {} to {} of {}", options.first_layer, last, config.layers);
  }
  if (options.first_layer > 0 && options.input == nullptr) {
    throw Error("forward: layer {} on was asked for without its input", options.first_layer);
  }
  for (const Tap& tap : options.taps) {
    if (tap.layer < options.first_layer || tap.layer > last || tap.out == nullptr ||
        (tap.out_stride < config.hidden && batch.rows() > 1)) {
      throw Error("forward: tap at layer {} (layers {} to {} are run), stride {}", tap.layer,
                  options.first_layer, last, tap.out_stride);
    }
  }
}

std::span<const float> Model::forward(const TokenBatch& batch, const ForwardOptions& options) {
  Impl& m = *impl_;
  m.check_options(batch, options);
  m.plan.build(batch, m.config, m.type, m.context);
  m.rope.ensure(m.plan.max_position() + 1);
  m.workspace.ensure_forward(
      batch.rows(),
      attention_scratch_bytes(m.plan.max_slots(), m.config.heads / m.config.kv_heads, m.config.head_dim));
  const ForwardPass pass(m.config, m.weights, m.backend.kernels, m.rope, m.plan, m.workspace, batch, options);
  m.backend.pool.run([&](Team& team) { pass.run(team); });
  m.result_rows = batch.rows();
  const bool padded = m.workspace.residual.stride() != m.workspace.result.stride();
  const RowBuffer& result = padded ? m.workspace.result : m.workspace.residual;
  return {result.floats(0),
          static_cast<std::size_t>(batch.rows()) * static_cast<std::size_t>(m.config.hidden)};
}

/// Final norm (unless `normed`) and LM head of the float32 rows that row(0) ... row(count - 1) give.
template <class RowOf>
void Model::Impl::project(int count, bool normed, float* out, std::int64_t out_stride, const RowOf& row) {
  if (count == 0) return;
  assert(out_stride % 16 == 0 && out_stride >= config.vocab);
  const PackedMatrix& head = weights.lm_head();
  workspace.ensure_normed(count);
  backend.pool.run([&](Team& team) {
    const void* x = normalise_rows(team, workspace, count, normed ? nullptr : weights.final_norm.data(),
                                   config.norm_eps, config.hidden, row);
    backend.kernels.gemm({.weight = &head,
                          .x = x,
                          .x_stride = workspace.normed.stride(),
                          .rows = count,
                          .y = out,
                          .y_stride = out_stride},
                         team.split(head.panels()));
  });
}

void Model::logits(std::span<const std::int32_t> rows, float* out, std::int64_t out_stride) {
  Impl& m = *impl_;
  for (const std::int32_t row : rows) {
    if (row < 0 || row >= m.result_rows) throw Error("logits: row {} of {}", row, m.result_rows);
  }
  m.project(static_cast<int>(rows.size()), false, out, out_stride,
            [&](std::int64_t i) { return m.workspace.residual.floats(rows[static_cast<std::size_t>(i)]); });
}

void Model::logits_of(const float* hidden, int count, bool normed, float* out, std::int64_t out_stride) {
  impl_->project(count, normed, out, out_stride,
                 [&](std::int64_t i) { return hidden + i * impl_->config.hidden; });
}

void Model::final_norm(const float* hidden, int count, float* out) const {
  const std::int64_t width = impl_->config.hidden;
  for (int r = 0; r < count; ++r) {
    rms_norm(hidden + r * width, impl_->weights.final_norm.data(), impl_->config.norm_eps, width, DType::F32,
             out + r * width);
  }
}

void Model::embed(std::span<const TokenId> tokens, float* out) const {
  for (const TokenId token : tokens) {
    if (token < 0 || token >= impl_->config.vocab) {
      throw Error("embed: token {} is outside the vocabulary of {}", token, impl_->config.vocab);
    }
    impl_->weights.embedding.get_row(token, out);
    out += impl_->config.hidden;
  }
}

}  // namespace augur
