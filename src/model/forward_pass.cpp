#include "model/forward_pass.h"

#include <cmath>
#include <cstring>

#include "base/elementary.h"

namespace augur {

namespace {

/// Null where there is none.
const float* data_of(const std::vector<float>& vector) {
  return vector.empty() ? nullptr : vector.data();
}

/// The sigmoid of a row's product with a gate: 16 partial sums, as the row operations have them (ops.h).
float gate_of(const float* row, const std::vector<float>& gate) {
  float sums[16] = {};
  for (std::size_t i = 0; i < gate.size(); ++i) sums[i % 16] += row[i] * gate[i];
  for (std::size_t half = 8; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return 1.0f / (1.0f + static_cast<float>(elementary::exp(-sums[0])));
}

}  // namespace

/// Books the time since the last call under a step, on thread 0 and only when asked to.
class ForwardPass::Timer {
 public:
  Timer(const Team& team, ForwardProfile* profile) : profile_(team.rank() == 0 ? profile : nullptr) {}
  void book(ForwardProfile::Step step) {
    if (profile_ != nullptr) profile_->ms[static_cast<std::size_t>(step)] += watch_.restart();
  }
  void barrier(Team& team, ForwardProfile::Step finished) {
    book(finished);
    team.barrier();
    book(ForwardProfile::Wait);
  }

 private:
  ForwardProfile* profile_;
  Stopwatch watch_;
};

void ForwardPass::run(Team& team) const {
  Timer timer(team, options_.profile);
  const Range rows = team.split(plan_.rows());
  load_rows(rows);
  timer.barrier(team, ForwardProfile::Embed);
  for (int layer = options_.first_layer; layer < last_layer(); ++layer) {
    copy_taps(rows, layer);
    attention_block(team, layer, timer);
    mlp_block(team, layer, timer);
  }
  copy_taps(rows, last_layer());
  if (ws_.residual.stride() != ws_.result.stride()) {
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      std::memcpy(ws_.result.row(r), ws_.residual.row(r),
                  static_cast<std::size_t>(config_.hidden) * sizeof(float));
    }
  }
}

void ForwardPass::observe(const Team& team, const ProductInput& input) const {
  if (options_.inputs != nullptr && team.rank() == 0) options_.inputs->saw(input);
}

void ForwardPass::store(Team& team, const float* given) const {
  const int rows = plan_.rows();
  const std::int64_t heads = config_.heads;
  const auto given_row = [&](std::int64_t r) { return given + r * config_.hidden; };
  for (int layer = 0; layer < config_.layers; ++layer) {
    const LayerWeights& weights = layers_[static_cast<std::size_t>(layer)];
    const void* x = prepare_rows(
        team, ws_, {.into = ws_.normed, .type = weights.qkv.input_type(), .width = config_.hidden}, rows,
        given_row);
    // Queries come first. A panel that they share with keys is computed whole.
    const std::int64_t first = heads * config_.head_dim / PackedMatrix::kPanel;
    const Range mine = team.split(weights.qkv.panels() - first);
    weights.qkv.multiply(kernels_,
                         {.x = x,
                          .x_stride = ws_.normed.shared.stride(),
                          .rows = rows,
                          .y = ws_.qkv.floats(0),
                          .y_stride = ws_.qkv.stride(),
                          .bias = data_of(weights.qkv_bias)},
                         {first + mine.begin, first + mine.end});
    team.barrier();
    const Range items = team.split(std::int64_t{config_.kv_heads} * rows);
    rotate_and_store({heads * rows + items.begin, heads * rows + items.end}, layer);
    team.barrier();
  }
}

void ForwardPass::load_rows(Range rows) const {
  const float* given = options_.first_layer > 0 ? options_.input : options_.embeddings;
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    if (given != nullptr) {
      std::memcpy(ws_.residual.row(r), given + r * config_.hidden,
                  static_cast<std::size_t>(config_.hidden) * sizeof(float));
    } else {
      embedding_->get_row(batch_.tokens[static_cast<std::size_t>(r)], ws_.residual.floats(r));
      if (config_.embedding_scale != 1.0f) {
        scale_row(ws_.residual.floats(r), config_.embedding_scale, config_.hidden);
      }
    }
  }
}

void ForwardPass::copy_taps(Range rows, int layer) const {
  for (const Tap& tap : options_.taps) {
    if (tap.layer != layer) continue;
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      std::memcpy(tap.out + r * tap.out_stride, ws_.residual.row(r),
                  static_cast<std::size_t>(config_.hidden) * sizeof(float));
    }
  }
}

/// Where this thread finds the rows that the q, k, v products of the layer read.
const void* ForwardPass::attention_input(Team& team, int index) const {
  const LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
  const DType type = layer.qkv.input_type();
  if (index == options_.first_layer && options_.attention_input != nullptr) {
    const std::int64_t width = layer.qkv.k();
    const Range rows = team.split(plan_.rows());
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      convert_row(options_.attention_input + r * width, width, type, ws_.entrance.row(type, r));
    }
    team.barrier();
    return ws_.entrance.row(type, 0);
  }
  return prepare_rows(team, ws_,
                      {.into = ws_.normed,
                       .type = type,
                       .width = config_.hidden,
                       .weight = data_of(layer.attention_norm),
                       .eps = config_.norm_eps},
                      plan_.rows(), [&](std::int64_t r) { return ws_.residual.floats(r); });
}

/// Where this thread finds what attention gave, as the output product reads it.
const void* ForwardPass::output_input(Team& team, int index) const {
  const DType type = layers_[static_cast<std::size_t>(index)].o.input_type();
  if (type != DType::Q8_0) return ws_.attended.row(type, 0);
  return prepare_rows(
      team, ws_, {.into = ws_.mixed, .type = type, .width = std::int64_t{config_.heads} * config_.head_dim},
      plan_.rows(),
      [&](std::int64_t r) { return static_cast<const float*>(ws_.attended.row(DType::F32, r)); });
}

void ForwardPass::attention_block(Team& team, int index, Timer& timer) const {
  const LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
  const int rows = plan_.rows();
  const bool given = index == options_.first_layer && options_.attention_input != nullptr;
  const void* x = attention_input(team, index);
  const std::int64_t stride = given ? ws_.entrance.stride() : ws_.normed.shared.stride();
  observe(team, {.product = ProductInput::Qkv,
                 .layer = index,
                 .type = layer.qkv.input_type(),
                 .x = x,
                 .stride = stride,
                 .width = layer.qkv.k(),
                 .rows = rows});
  timer.book(ForwardProfile::Norm);
  layer.qkv.multiply(kernels_,
                     {.x = x,
                      .x_stride = stride,
                      .rows = rows,
                      .y = ws_.qkv.floats(0),
                      .y_stride = ws_.qkv.stride(),
                      .bias = data_of(layer.qkv_bias)},
                     team.split(layer.qkv.panels()));
  timer.barrier(team, ForwardProfile::Qkv);
  if (config_.layer(index).qk_norm == QkNorm::Whole) {
    norm_whole_queries_and_keys(team.split(rows), index);
    timer.barrier(team, ForwardProfile::Rope);
  }
  rotate_and_store(team.split(std::int64_t{config_.heads + config_.kv_heads} * rows), index);
  timer.barrier(team, ForwardProfile::Rope);
  attend(team, index);
  timer.barrier(team, ForwardProfile::Attention);
  multiply_into_residual(team,
                         {.product = ProductInput::Output,
                          .layer = index,
                          .matrix = layer.o,
                          .x = output_input(team, index),
                          .x_stride = ws_.attended.stride(),
                          .bias = layer.o_bias,
                          .norm = layer.attention_after_norm,
                          .scale = config_.layer(index).residual_scale,
                          .step = ForwardProfile::Output},
                         timer);
}

void ForwardPass::multiply_into_residual(Team& team, const BlockEnd& end, Timer& timer) const {
  observe(team, {.product = end.product,
                 .layer = end.layer,
                 .type = end.matrix.input_type(),
                 .x = end.x,
                 .stride = end.x_stride,
                 .width = end.matrix.k(),
                 .rows = plan_.rows()});
  const bool branch = !end.norm.empty() || end.scale != 1.0f;
  const RowBuffer& out = branch ? ws_.branch : ws_.residual;
  kernels_.gemm({.weight = &end.matrix,
                 .x = end.x,
                 .x_stride = end.x_stride,
                 .rows = plan_.rows(),
                 .y = out.floats(0),
                 .y_stride = out.stride(),
                 .bias = data_of(end.bias),
                 .accumulate = !branch},
                team.split(end.matrix.panels()));
  timer.barrier(team, end.step);
  if (!branch) return;
  const Range rows = team.split(plan_.rows());
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    float* added = out.floats(r);
    if (!end.norm.empty()) {
      rms_norm(added, end.norm.data(), config_.norm_eps, config_.hidden, DType::F32, added);
    }
    add_scaled_row(ws_.residual.floats(r), added, end.scale, config_.hidden);
  }
  timer.barrier(team, end.step);
}

void ForwardPass::mlp_block(Team& team, int index, Timer& timer) const {
  const LayerSpec& spec = config_.layer(index);
  if (spec.experts.count > 0) return expert_block(team, index, timer);
  const LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
  const int rows = plan_.rows();
  const auto residual = [&](std::int64_t r) { return ws_.residual.floats(r); };
  const void* x = prepare_rows(team, ws_,
                               {.into = ws_.normed,
                                .type = layer.gate_up.input_type(),
                                .width = config_.hidden,
                                .weight = data_of(layer.mlp_norm),
                                .eps = config_.norm_eps},
                               rows, residual);
  observe(team, {.product = ProductInput::GateUp,
                 .layer = index,
                 .type = layer.gate_up.input_type(),
                 .x = x,
                 .stride = ws_.normed.shared.stride(),
                 .width = config_.hidden,
                 .rows = rows});
  timer.book(ForwardProfile::Norm);
  multiply_gate_up(team, index, x);
  timer.barrier(team, ForwardProfile::GateUp);
  multiply_into_residual(team,
                         {.product = ProductInput::Down,
                          .layer = index,
                          .matrix = layer.down,
                          .x = ws_.activated.row(layer.down.input_type(), 0),
                          .x_stride = ws_.activated.stride(),
                          .bias = layer.down_bias,
                          .norm = layer.mlp_after_norm,
                          .scale = spec.residual_scale,
                          .step = ForwardProfile::Down},
                         timer);
}

void ForwardPass::norm_whole_queries_and_keys(Range rows, int index) const {
  const LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
  const std::int64_t queries = std::int64_t{config_.heads} * config_.head_dim;
  const std::int64_t keys = std::int64_t{config_.kv_heads} * config_.head_dim;
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    float* q = ws_.qkv.floats(r);
    rms_norm(q, layer.q_norm.data(), config_.norm_eps, queries, DType::F32, q);
    rms_norm(q + queries, layer.k_norm.data(), config_.norm_eps, keys, DType::F32, q + queries);
  }
}

/// Items are heads (queries, then keys with their values) times rows, rows fastest: slots of one head that
/// share cache lines mostly go to one thread.
void ForwardPass::rotate_and_store(Range items, int index) const {
  const LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
  const int head_dim = config_.head_dim;
  const bool norms = config_.layer(index).qk_norm == QkNorm::PerHead;
  const RopeCache& rope = ropes_[config_.kind(index)];
  const auto finish = [&](float* head, const std::vector<float>& norm, std::int64_t row) {
    if (norms) rms_norm(head, norm.data(), config_.norm_eps, head_dim, DType::F32, head);
    if (rope.dims() == 0) return;
    const std::int64_t position = batch_.positions[static_cast<std::size_t>(row)];
    rope_rotate(head, rope.cos(position), rope.sin(position), rope.dims());
  };
  const KvCache* cache = nullptr;
  KvLayerView view;
  for (std::int64_t i = items.begin; i < items.end; ++i) {
    const std::int64_t head = i / plan_.rows();
    const std::int64_t row = i % plan_.rows();
    float* qkv = ws_.qkv.floats(row);
    if (head < config_.heads) {
      finish(qkv + head * head_dim, layer.q_norm, row);
      continue;
    }
    const std::int64_t kv_head = head - config_.heads;
    float* key = qkv + (config_.heads + kv_head) * head_dim;
    finish(key, layer.k_norm, row);
    if (const KvCache& of_row = plan_.cache_of(static_cast<int>(row)); cache != &of_row) {
      cache = &of_row;
      view = cache->layer(index);
    }
    kv_store(view, static_cast<int>(kv_head), plan_.slot(static_cast<int>(row)), key,
             key + std::int64_t{config_.kv_heads} * head_dim);
  }
}

void ForwardPass::attend(const Team& team, int index) const {
  const LayerSpec& spec = config_.layer(index);
  const LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
  const bool bf16 = layer.o.input_type() == DType::BF16;
  const DType type = bf16 ? DType::BF16 : DType::F32;
  for (std::size_t s = 0; s < plan_.sequences().size(); ++s) {
    const BatchPlan::Sequence& sequence = plan_.sequences()[s];
    const Range items = plan_.attention_share(s, team.rank(), team.size());
    if (items.size() <= 0) continue;
    AttentionCall call = plan_.attention_call(sequence, index);
    call.scale =
        spec.score_scale > 0 ? spec.score_scale : 1.0f / std::sqrt(static_cast<float>(config_.head_dim));
    call.cap = spec.score_cap;
    call.sinks = data_of(layer.sinks);
    if (options_.block.empty()) call.window = spec.window;  // which says itself what its rows see
    call.q = ws_.qkv.floats(sequence.first_row);
    call.q_stride = ws_.qkv.stride();
    call.out_type = type;
    call.out = ws_.attended.row(type, sequence.first_row);
    call.out_stride = ws_.attended.stride();
    kernels_.attention(call, items, ws_.scratch(team.rank()));
  }
}

/// `panels` of gate_up, whole pairs, and of those whole blocks where they are to be quantised.
void ForwardPass::activate(const RowBuffer& gate_up, const InputRows& activated, Range rows, Range panels,
                           DType type, Activation activation) {
  constexpr std::int64_t kWidth = PackedMatrix::kPanel;
  const auto apply = activation == Activation::Silu       ? silu_mul_panels
                     : activation == Activation::GeluTanh ? gelu_mul_panels
                                                          : clamped_swiglu_panels;
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    auto* out = static_cast<std::byte*>(activated.row(type, r));
    apply(gate_up.floats(r) + panels.begin * kWidth, panels.size() / 2, type,
          out + row_bytes(type, panels.begin / 2 * kWidth));
  }
}

/// Leaves every row's experts in the workspace, and float32 rows after the norm in `routed`.
void ForwardPass::route_rows(Team& team, int index, Timer& timer) const {
  const LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
  const Range rows = team.split(plan_.rows());
  if (team.rank() == 0) ws_.expert_rows.reset(config_.layer(index).experts, plan_.rows());
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    prepare_row(ws_.residual.floats(r), data_of(layer.mlp_norm), config_.norm_eps, config_.hidden, DType::F32,
                ws_.routed.row(DType::F32, r));
  }
  timer.barrier(team, ForwardProfile::Norm);
  kernels_.gemm({.weight = &layer.router,
                 .x = ws_.routed.row(DType::F32, 0),
                 .x_stride = ws_.routed.stride(),
                 .rows = plan_.rows(),
                 .y = ws_.router_scores.floats(0),
                 .y_stride = ws_.router_scores.stride(),
                 .bias = data_of(layer.router_bias)},
                team.split(layer.router.panels()));
  timer.barrier(team, ForwardProfile::GateUp);
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    ws_.expert_rows.route(static_cast<int>(r), ws_.router_scores.floats(r));
  }
  timer.barrier(team, ForwardProfile::GateUp);
  if (team.rank() == 0) {
    ws_.expert_rows.group();
    ws_.woken_experts += std::ssize(ws_.expert_rows.groups());
  }
  timer.barrier(team, ForwardProfile::GateUp);
}

/// Of the feed-forward that all rows go through, with the activation. `x`: its rows, from `normed`.
void ForwardPass::multiply_gate_up(const Team& team, int index, const void* x) const {
  const LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
  const int rows = plan_.rows();
  // Quantised activations come in whole blocks of 32 columns.
  const DType activated = layer.down.input_type();
  const Range panels = team.split(layer.gate_up.panels(), activated == DType::Q8_0 ? 4 : 2);
  kernels_.gemm({.weight = &layer.gate_up,
                 .x = x,
                 .x_stride = ws_.normed.shared.stride(),
                 .rows = rows,
                 .y = ws_.gate_up.floats(0),
                 .y_stride = ws_.gate_up.stride(),
                 .bias = data_of(layer.gate_up_bias)},
                panels);
  activate(ws_.gate_up, ws_.activated, {0, rows}, panels, activated, config_.layer(index).activation);
}

void ForwardPass::expert_block(Team& team, int index, Timer& timer) const {
  const LayerSpec& spec = config_.layer(index);
  const LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
  route_rows(team, index, timer);
  const ExpertRows& routed = ws_.expert_rows;
  // All experts of a layer are of the types of the first, see pack_experts().
  const DType type = layer.experts.front().gate_up.input_type();
  const Range places = team.split(routed.places());
  for (std::int64_t p = places.begin; p < places.end; ++p) {
    const auto* row =
        static_cast<const float*>(ws_.routed.row(DType::F32, routed.row_at(static_cast<int>(p))));
    convert_row(row, config_.hidden, type, ws_.expert_inputs.row(type, p));
  }
  timer.barrier(team, ForwardProfile::Norm);
  const DType activated = layer.experts.front().down.input_type();
  for (const ExpertRows::Group& group : routed.groups()) {
    const ExpertWeights& expert = layer.experts[static_cast<std::size_t>(group.expert)];
    observe(team, {.product = ProductInput::GateUp,
                   .layer = index,
                   .expert = group.expert,
                   .type = type,
                   .x = ws_.expert_inputs.row(type, group.first),
                   .stride = ws_.expert_inputs.stride(),
                   .width = config_.hidden,
                   .rows = group.rows});
    const Range panels = team.split(expert.gate_up.panels(), activated == DType::Q8_0 ? 4 : 2);
    kernels_.gemm({.weight = &expert.gate_up,
                   .x = ws_.expert_inputs.row(type, group.first),
                   .x_stride = ws_.expert_inputs.stride(),
                   .rows = group.rows,
                   .y = ws_.expert_gate_up.floats(group.first),
                   .y_stride = ws_.expert_gate_up.stride(),
                   .bias = data_of(expert.gate_up_bias)},
                  panels);
    activate(ws_.expert_gate_up, ws_.expert_activated, {group.first, group.first + group.rows}, panels,
             activated, spec.activation);
  }
  const bool shares = !layer.shared_scale.empty();
  if (shares) {
    const auto row = [&](std::int64_t r) { return static_cast<const float*>(ws_.routed.row(DType::F32, r)); };
    const RowPreparation how{.into = ws_.normed, .type = layer.gate_up.input_type(), .width = config_.hidden};
    const void* x = prepare_rows(team, ws_, how, plan_.rows(), row);
    observe(team, {.product = ProductInput::GateUp,
                   .layer = index,
                   .type = how.type,
                   .x = x,
                   .stride = ws_.normed.shared.stride(),
                   .width = config_.hidden,
                   .rows = plan_.rows()});
    multiply_gate_up(team, index, x);
  }
  timer.barrier(team, ForwardProfile::GateUp);
  if (shares) {
    observe(team, {.product = ProductInput::Down,
                   .layer = index,
                   .type = layer.down.input_type(),
                   .x = ws_.activated.row(layer.down.input_type(), 0),
                   .stride = ws_.activated.stride(),
                   .width = layer.down.k(),
                   .rows = plan_.rows()});
    kernels_.gemm({.weight = &layer.down,
                   .x = ws_.activated.row(layer.down.input_type(), 0),
                   .x_stride = ws_.activated.stride(),
                   .rows = plan_.rows(),
                   .y = ws_.expert_results.floats(routed.places()),
                   .y_stride = ws_.expert_results.stride()},
                  team.split(layer.down.panels()));
  }
  for (const ExpertRows::Group& group : routed.groups()) {
    const ExpertWeights& expert = layer.experts[static_cast<std::size_t>(group.expert)];
    observe(team, {.product = ProductInput::Down,
                   .layer = index,
                   .expert = group.expert,
                   .type = activated,
                   .x = ws_.expert_activated.row(activated, group.first),
                   .stride = ws_.expert_activated.stride(),
                   .width = expert.down.k(),
                   .rows = group.rows});
    kernels_.gemm({.weight = &expert.down,
                   .x = ws_.expert_activated.row(activated, group.first),
                   .x_stride = ws_.expert_activated.stride(),
                   .rows = group.rows,
                   .y = ws_.expert_results.floats(group.first),
                   .y_stride = ws_.expert_results.stride(),
                   .bias = data_of(expert.down_bias)},
                  team.split(expert.down.panels()));
  }
  timer.barrier(team, ForwardProfile::Down);
  const Range rows = team.split(plan_.rows());
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const auto row = static_cast<int>(r);
    for (int i = 0; i < spec.experts.active; ++i) {
      add_scaled_row(ws_.residual.floats(r), ws_.expert_results.floats(routed.place(row, i)),
                     routed.share(row, i) * spec.residual_scale, config_.hidden);
    }
    if (!shares) continue;
    const float scale = gate_of(static_cast<const float*>(ws_.routed.row(DType::F32, r)), layer.shared_scale);
    add_scaled_row(ws_.residual.floats(r), ws_.expert_results.floats(routed.places() + r),
                   scale * spec.residual_scale, config_.hidden);
  }
  timer.barrier(team, ForwardProfile::Down);
}

}  // namespace augur
