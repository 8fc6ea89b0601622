#include "model/forward_pass.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "model/config_bounds.h"
#include "model/recurrent_pass.h"

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
  sigmoid_row(sums, 1, sums);
  return sums[0];
}

/// Panels of gate and up that stay together: a pair, or one where there is no gate; twice as many where the
/// activation is quantised, in blocks of 32 columns.
constexpr std::int64_t panels_at_once(InputForm form, Activation activation) {
  return (form == InputForm::Blocks8 ? 2 : 1) * (is_gated(activation) ? 2 : 1);
}

}  // namespace

/// Books the time since the last call under a step, on thread 0 and only when asked to.
class ForwardPass::Timer {
 public:
  Timer(const Team& team, ForwardProfile* profile) : profile_(team.rank() == 0 ? profile : nullptr) {}
  void book(ForwardProfile::Step step) {
    if (profile_ != nullptr) profile_->ms[static_cast<std::size_t>(step)] += watch_.restart();
  }
  /// A barrier. The buffers are named for the reader: from here on every thread may read what all have
  /// written to them.
  template <class... Buffers>
  void publish(Team& team, ForwardProfile::Step finished, const Buffers&... /*written*/) {
    book(finished);
    team.barrier();
    book(ForwardProfile::Wait);
  }

 private:
  ForwardProfile* profile_;
  Stopwatch watch_;
};

// One pass, phase by phase. What is read and written are members of the Workspace. Each phase is shared out
// among the threads by rows, by columns of a product's results, or by heads times rows; a barrier follows
// where the next one reads otherwise. In parentheses: only of layers that have it. rows*: few rows every
// thread prepares for itself, without a barrier (prepare_rows()).
//
//   phase                    by     reads                             writes, then publishes
//   -----------------------  -----  --------------------------------  ----------------------------------
//   load_rows                rows   tokens, or rows that are given    residual
// in every layer:
//   copy_taps                rows   residual                          taps, which are not read here
// attention_block (of layers with one):
//   attention_input          rows*  residual                          block_inputs
//     or, where it is given  rows   options.attention_input           given_inputs
//   q, k, v product          cols   block_inputs or given_inputs      qkv
//   (norm_whole_queries_..)  rows   qkv                               qkv
//   rotate_and_store         heads  qkv                               qkv, new slots of the caches
//   attend                   heads  qkv, caches                       attention_results
//   (gate_heads)             rows   attention_results, qkv            attention_results
//     or, in place of these  cols   qkv, caches                       new slots of the caches, for the same
//       (convolve)                                                    thread; attention_results
//     or, in place of these
//       norm                 rows   residual                          router_inputs, with the q, k, v product
//       RecurrentPass::
//         convolve           heads  qkv, caches                       recurrent_rows, records and states
//         with the gates     cols   router_inputs                     recurrent_gates
//         recur              heads  recurrent_rows, recurrent_gates,  records and states; attention_results,
//                                   qkv, caches                       or recurrent_rows
//         (norm)             rows   recurrent_rows                    attention_results
//   (output_input)           rows*  attention_results                 output_inputs
//   output product           cols   attention_results, output_inputs  residual or block_results
//   (norm, scale, addition)  rows   block_results                     residual
// mlp_block (of layers with one; "gate and up" is up alone where there is no gate):
//   norm                     rows*  residual                          block_inputs
//   gate and up product      cols   block_inputs                      gate_up, for the same thread
//     activate               cols   gate_up                           down_inputs
//   down product             cols   down_inputs                       residual or block_results
//   (norm, scale, addition)  rows   block_results                     residual
// or expert_block:
//   norm                     rows   residual                          router_inputs; empty expert_rows
//   scores                   cols   router_inputs                     router_scores
//   choice                   rows   router_scores                     expert_rows: what rows chose
//   grouping                 one    expert_rows                       expert_rows: groups and places
//   (into latent rows)       rows*  router_inputs                     block_inputs
//     product                cols   block_inputs                      latent_rows
//   gathering                rows   router_inputs or latent_rows,     expert_inputs
//                                   expert_rows
//   gate and up products     cols   expert_inputs                     expert_gate_up, for the same thread
//     activate               cols   expert_gate_up                    expert_down_inputs
//   (of the shared expert)   rows*  router_inputs                     block_inputs
//     product, activate      cols   block_inputs                      gate_up; down_inputs
//   down products            cols   expert_down_inputs, down_inputs   expert_results
//   sums                     rows   expert_results, router_inputs     residual, latent_rows
//   (out of latent rows)     rows*  latent_rows                       latent_inputs
//     product                cols   latent_inputs                     residual
void ForwardPass::run(Team& team) const {
  Timer timer(team, options_.profile);
  const Range rows = team.split(layout_.rows());
  load_rows(rows);
  timer.publish(team, ForwardProfile::Embed, ws_.residual);
  for (int layer = options_.first_layer; layer < last_layer(); ++layer) {
    copy_taps(rows, layer);
    const LayerSpec& spec = config_.layer(layer);
    if (spec.mixes()) attention_block(team, layer, timer);
    if (spec.feeds_forward()) mlp_block(team, layer, timer);
  }
  copy_taps(rows, last_layer());
  if (ws_.residual.stride() != ws_.unpadded_residual.stride()) {
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      std::memcpy(ws_.unpadded_residual.row(r), ws_.residual.row(r),
                  static_cast<std::size_t>(config_.hidden) * sizeof(float));
    }
  }
}

/// Shows what a product reads to those who look on.
void ForwardPass::observe(const Team& team, const ProductInput& input) const {
  if (options_.inputs != nullptr && team.rank() == 0) options_.inputs->saw(input);
}

void ForwardPass::store(Team& team, const float* given) const {
  const int rows = layout_.rows();
  const std::int64_t heads = config_.heads;
  const auto given_row = [&](std::int64_t r) { return given + r * config_.hidden; };
  for (int layer = 0; layer < config_.layers; ++layer) {
    const LayerWeights& weights = layers_[static_cast<std::size_t>(layer)];
    const void* x = prepare_rows(
        team, ws_, {.into = ws_.block_inputs, .form = weights.qkv.input_form(), .width = config_.hidden},
        rows, given_row);
    // Queries come first. A panel that they share with keys is computed whole.
    const std::int64_t first = heads * config_.head_dim / PackedMatrix::kPanel;
    const Range mine = team.split(weights.qkv.panels() - first);
    weights.qkv.multiply(kernels_,
                         {.x = x,
                          .x_stride = ws_.block_inputs.shared.stride(),
                          .rows = rows,
                          .y = ws_.qkv.floats(0),
                          .y_stride = ws_.qkv.stride(),
                          .bias = data_of(weights.qkv_bias)},
                         {first + mine.begin, first + mine.end});
    team.barrier();  // publishes qkv
    const Range items = team.split(std::int64_t{config_.kv_heads} * rows);
    rotate_and_store({heads * rows + items.begin, heads * rows + items.end}, layer);
    team.barrier();  // qkv may be written again
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
  const InputForm form = layer.qkv.input_form();
  if (index == options_.first_layer && options_.attention_input != nullptr) {
    const std::int64_t width = layer.qkv.k();
    const Range rows = team.split(layout_.rows());
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      convert_row(options_.attention_input + r * width, width, form, ws_.given_inputs.row(form, r));
    }
    team.barrier();  // publishes given_inputs
    return ws_.given_inputs.row(form, 0);
  }
  return prepare_rows(team, ws_,
                      {.into = ws_.block_inputs,
                       .form = form,
                       .width = config_.hidden,
                       .weight = data_of(layer.attention_norm),
                       .eps = config_.norm_eps},
                      layout_.rows(), [&](std::int64_t r) { return ws_.residual.floats(r); });
}

/// Where this thread finds what attention gave, as the output product reads it.
const void* ForwardPass::output_input(Team& team, int index) const {
  const InputForm form = layers_[static_cast<std::size_t>(index)].o.input_form();
  if (form != InputForm::Blocks8) return ws_.attention_results.row(form, 0);
  return prepare_rows(
      team, ws_,
      {.into = ws_.output_inputs, .form = form, .width = layers_[static_cast<std::size_t>(index)].o.k()},
      layout_.rows(), [&](std::int64_t r) {
        return static_cast<const float*>(ws_.attention_results.row(InputForm::F32, r));
      });
}

void ForwardPass::mix(Team& team, int index, Timer& timer) const {
  const int rows = layout_.rows();
  const LayerSpec& spec = config_.layer(index);
  if (spec.recurs()) return mix_recurrent(team, index, timer);
  if (spec.conv.taps > 0) {
    convolve(team.split(config_.hidden, PackedMatrix::kPanel), index);
    return timer.publish(team, ForwardProfile::Attention, ws_.attention_results, layout_ /* its caches */);
  }
  if (spec.qk_norm == QkNorm::Whole) {
    norm_whole_queries_and_keys(team.split(rows), index);
    timer.publish(team, ForwardProfile::Rope, ws_.qkv);
  }
  rotate_and_store(team.split(std::int64_t{config_.heads + config_.kv_heads} * rows), index);
  timer.publish(team, ForwardProfile::Rope, ws_.qkv, layout_ /* its caches */);
  attend(team, index);
  timer.publish(team, ForwardProfile::Attention, ws_.attention_results);
  if (!spec.gated) return;
  gate_heads(team.split(rows), index);
  timer.publish(team, ForwardProfile::Attention, ws_.attention_results);
}

void ForwardPass::gate_heads(Range rows, int index) const {
  const LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
  const InputForm form = layer.o.input_form() == InputForm::BF16 ? InputForm::BF16 : InputForm::F32;
  const std::int64_t gates = std::int64_t{config_.heads + 2 * config_.kv_heads} * config_.head_dim;
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    sigmoid_mul(ws_.qkv.floats(r) + gates,
                static_cast<const float*>(ws_.attention_results.row(InputForm::F32, r)),
                std::int64_t{config_.heads} * config_.head_dim, form, ws_.attention_results.row(form, r));
  }
}

void ForwardPass::mix_recurrent(Team& team, int index, Timer& timer) const {
  const LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
  const RecurrentPass pass({.spec = config_.layer(index).recurrent,
                            .weights = layer,
                            .layout = layout_,
                            .workspace = ws_,
                            .layer = index,
                            .norm_eps = config_.norm_eps});
  pass.convolve(team);
  kernels_.gemm({.weight = &layer.recurrent_gates,
                 .x = ws_.router_inputs.row(InputForm::F32, 0),
                 .x_stride = ws_.router_inputs.stride(),
                 .rows = layout_.rows(),
                 .y = ws_.recurrent_gates.floats(0),
                 .y_stride = ws_.recurrent_gates.stride()},
                team.split(layer.recurrent_gates.panels()));
  timer.publish(team, ForwardProfile::Rope, ws_.recurrent_rows, ws_.recurrent_gates,
                layout_ /* its caches */);
  const InputForm form = layer.o.input_form() == InputForm::BF16 ? InputForm::BF16 : InputForm::F32;
  pass.recur(team, form);
  if (pass.norms()) {
    timer.publish(team, ForwardProfile::Attention, ws_.recurrent_rows, layout_ /* its caches */);
    pass.norm(team, form);
  }
  timer.publish(team, ForwardProfile::Attention, ws_.attention_results, layout_ /* its caches */);
}

/// Channels do not meet, and parents come before their children: what a row sees of this pass its own thread
/// has stored.
void ForwardPass::convolve(Range columns, int index) const {
  const LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
  const InputForm form = layer.o.input_form() == InputForm::BF16 ? InputForm::BF16 : InputForm::F32;
  const std::int64_t hidden = config_.hidden;
  std::array<const float*, kMaxTaps> seen;
  for (int r = 0; r < layout_.rows(); ++r) {
    const SlotRows slots = layout_.cache_of(r).rows(index);
    const float* const b = ws_.qkv.floats(r) + columns.begin;
    float* const own = slots.row(layout_.slot(r)) + columns.begin;
    mul_row(b, b + 2 * hidden, columns.size(), own);
    std::size_t count = 0;
    for (const std::int64_t slot : layout_.before(r))
      seen[count++] = slot < 0 ? nullptr : slots.row(slot) + columns.begin;
    seen[count++] = own;
    convolve_row(
        {seen.data(), count}, layer.taps.data() + columns.begin, hidden,
        layer.taps_bias.empty() ? nullptr : layer.taps_bias.data() + columns.begin, b + hidden,
        columns.size(), form,
        static_cast<std::byte*>(ws_.attention_results.row(form, r)) + row_bytes(form, columns.begin));
  }
}

void ForwardPass::attention_block(Team& team, int index, Timer& timer) const {
  const LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
  const int rows = layout_.rows();
  const bool given = index == options_.first_layer && options_.attention_input != nullptr;
  const void* x = attention_input(team, index);
  if (config_.layer(index).recurs()) {
    const Range mine = team.split(rows);
    for (std::int64_t r = mine.begin; r < mine.end; ++r) {
      prepare_row(ws_.residual.floats(r), data_of(layer.attention_norm), config_.norm_eps, config_.hidden,
                  InputForm::F32, ws_.router_inputs.row(InputForm::F32, r));
    }
  }
  const std::int64_t stride = given ? ws_.given_inputs.stride() : ws_.block_inputs.shared.stride();
  observe(team, {.product = ProductInput::Qkv,
                 .layer = index,
                 .form = layer.qkv.input_form(),
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
  timer.publish(team, ForwardProfile::Qkv, ws_.qkv, ws_.router_inputs);
  mix(team, index, timer);
  multiply_into_residual(team,
                         {.product = {.name = ProductInput::Output,
                                      .layer = index,
                                      .matrix = layer.o,
                                      .x = output_input(team, index),
                                      .x_stride = ws_.attention_results.stride(),
                                      .rows = rows,
                                      .bias = data_of(layer.o_bias)},
                          .norm = layer.attention_after_norm,
                          .scale = config_.layer(index).residual_scale,
                          .step = ForwardProfile::Output},
                         timer);
}

void ForwardPass::multiply(const Team& team, const Product& product, Range panels) const {
  observe(team, {.product = product.name,
                 .layer = product.layer,
                 .expert = product.expert,
                 .form = product.matrix.input_form(),
                 .x = product.x,
                 .stride = product.x_stride,
                 .width = product.matrix.k(),
                 .rows = product.rows});
  kernels_.gemm({.weight = &product.matrix,
                 .x = product.x,
                 .x_stride = product.x_stride,
                 .rows = product.rows,
                 .y = product.out->floats(product.first_row),
                 .y_stride = product.out->stride(),
                 .bias = product.bias,
                 .accumulate = product.accumulate},
                panels);
}

void ForwardPass::multiply_into_residual(Team& team, const BlockEnd& end, Timer& timer) const {
  const bool held = !end.norm.empty() || end.scale != 1.0f;
  Product product = end.product;
  product.out = held ? &ws_.block_results : &ws_.residual;
  product.accumulate = !held;
  multiply(team, product, team.split(product.matrix.panels()));
  if (!held) return timer.publish(team, end.step, ws_.residual);
  timer.publish(team, end.step, ws_.block_results);
  const Range rows = team.split(layout_.rows());
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    float* added = ws_.block_results.floats(r);
    if (!end.norm.empty()) {
      rms_norm(added, end.norm.data(), config_.norm_eps, config_.hidden, InputForm::F32, added);
    }
    add_scaled_row(ws_.residual.floats(r), added, end.scale, config_.hidden);
  }
  timer.publish(team, end.step, ws_.residual);
}

void ForwardPass::mlp_block(Team& team, int index, Timer& timer) const {
  const LayerSpec& spec = config_.layer(index);
  if (spec.experts.count > 0) return expert_block(team, index, timer);
  const LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
  const int rows = layout_.rows();
  const auto residual = [&](std::int64_t r) { return ws_.residual.floats(r); };
  const void* x = prepare_rows(team, ws_,
                               {.into = ws_.block_inputs,
                                .form = layer.gate_up.input_form(),
                                .width = config_.hidden,
                                .weight = data_of(layer.mlp_norm),
                                .eps = config_.norm_eps},
                               rows, residual);
  timer.book(ForwardProfile::Norm);
  multiply_gate_up(team, index, x);
  timer.publish(team, ForwardProfile::GateUp, ws_.down_inputs);
  multiply_into_residual(team,
                         {.product = {.name = ProductInput::Down,
                                      .layer = index,
                                      .matrix = layer.down,
                                      .x = ws_.down_inputs.row(layer.down.input_form(), 0),
                                      .x_stride = ws_.down_inputs.stride(),
                                      .rows = rows,
                                      .bias = data_of(layer.down_bias)},
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
    rms_norm(q, layer.q_norm.data(), config_.norm_eps, queries, InputForm::F32, q);
    rms_norm(q + queries, layer.k_norm.data(), config_.norm_eps, keys, InputForm::F32, q + queries);
  }
}

/// Items are heads (queries, then keys with their values) times rows, rows fastest: slots of one head that
/// share cache lines mostly go to one thread.
void ForwardPass::rotate_and_store(Range items, int index) const {
  const LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
  const LayerSpec& spec = config_.layer(index);
  const int head_dim = config_.head_dim;
  const bool norms = spec.qk_norm == QkNorm::PerHead;
  const RopeCache& rope = ropes_[config_.kind(index)];
  const auto position_of = [&](std::int64_t row) { return batch_.positions[static_cast<std::size_t>(row)]; };
  const auto finish = [&](float* head, const std::vector<float>& norm, std::int64_t row) {
    const auto normalise = [&] {
      rms_norm(head, norm.data(), config_.norm_eps, head_dim, InputForm::F32, head);
    };
    if (norms && !spec.norms_rotated) normalise();
    if (rope.dims() > 0) {
      const std::int64_t position = position_of(row);
      rope_rotate(head, rope.cos(position), rope.sin(position), rope.dims());
    }
    if (norms && spec.norms_rotated) normalise();
  };
  const KvCache* cache = nullptr;
  KvLayerView view;
  for (std::int64_t i = items.begin; i < items.end; ++i) {
    const std::int64_t head = i / layout_.rows();
    const std::int64_t row = i % layout_.rows();
    float* qkv = ws_.qkv.floats(row);
    if (head < config_.heads) {
      finish(qkv + head * head_dim, layer.q_norm, row);
      if (const float growth = spec.query_growth.at(position_of(row)); growth != 1.0f) {
        scale_row(qkv + head * head_dim, growth, head_dim);
      }
      continue;
    }
    const std::int64_t kv_head = head - config_.heads;
    float* key = qkv + (config_.heads + kv_head) * head_dim;
    finish(key, layer.k_norm, row);
    if (const KvCache& of_row = layout_.cache_of(static_cast<int>(row)); cache != &of_row) {
      cache = &of_row;
      view = cache->layer(index);
    }
    kv_store(view, static_cast<int>(kv_head), layout_.slot(static_cast<int>(row)), key,
             key + std::int64_t{config_.kv_heads} * head_dim);
  }
}

void ForwardPass::attend(const Team& team, int index) const {
  const LayerSpec& spec = config_.layer(index);
  const LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
  const bool bf16 = layer.o.input_form() == InputForm::BF16 && !spec.gated;
  const InputForm form = bf16 ? InputForm::BF16 : InputForm::F32;
  for (std::size_t s = 0; s < layout_.sequences().size(); ++s) {
    const BatchLayout::Sequence& sequence = layout_.sequences()[s];
    const Range items = layout_.attention_share(s, team.rank(), team.size());
    if (items.size() <= 0) continue;
    AttentionCall call = layout_.attention_call(sequence, index);
    call.scale =
        spec.score_scale > 0 ? spec.score_scale : 1.0f / std::sqrt(static_cast<float>(config_.head_dim));
    call.cap = spec.score_cap;
    call.sinks = data_of(layer.sinks);
    if (options_.block.empty()) call.window = spec.window;  // which says itself what its rows see
    call.q = ws_.qkv.floats(sequence.first_row);
    call.q_stride = ws_.qkv.stride();
    call.out_form = form;
    call.out = ws_.attention_results.row(form, sequence.first_row);
    call.out_stride = ws_.attention_results.stride();
    kernels_.attention(call, items, ws_.scratch(team.rank()));
  }
}

/// `panels` of gate_up, as panels_at_once() has them.
void ForwardPass::activate(const RowBuffer& gate_up, const InputRows& activated, Range rows, Range panels,
                           InputForm form, Activation activation) {
  constexpr std::int64_t kWidth = PackedMatrix::kPanel;
  if (!is_gated(activation)) {
    const std::int64_t first = panels.begin * kWidth;
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      squared_relu(gate_up.floats(r) + first, panels.size() * kWidth, form,
                   static_cast<std::byte*>(activated.row(form, r)) + row_bytes(form, first));
    }
    return;
  }
  const auto apply = activation == Activation::Silu       ? silu_mul_panels
                     : activation == Activation::GeluTanh ? gelu_mul_panels
                                                          : clamped_swiglu_panels;
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    auto* out = static_cast<std::byte*>(activated.row(form, r));
    apply(gate_up.floats(r) + panels.begin * kWidth, panels.size() / 2, form,
          out + row_bytes(form, panels.begin / 2 * kWidth));
  }
}

/// Leaves every row's experts in the workspace, and float32 rows after the norm in `router_inputs`.
void ForwardPass::route_rows(Team& team, int index, Timer& timer) const {
  const LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
  const Range rows = team.split(layout_.rows());
  if (team.rank() == 0) ws_.expert_rows.reset(config_.layer(index).experts, layout_.rows());
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    prepare_row(ws_.residual.floats(r), data_of(layer.mlp_norm), config_.norm_eps, config_.hidden,
                InputForm::F32, ws_.router_inputs.row(InputForm::F32, r));
  }
  timer.publish(team, ForwardProfile::Norm, ws_.router_inputs, ws_.expert_rows);
  kernels_.gemm({.weight = &layer.router,
                 .x = ws_.router_inputs.row(InputForm::F32, 0),
                 .x_stride = ws_.router_inputs.stride(),
                 .rows = layout_.rows(),
                 .y = ws_.router_scores.floats(0),
                 .y_stride = ws_.router_scores.stride(),
                 .bias = data_of(layer.router_bias)},
                team.split(layer.router.panels()));
  timer.publish(team, ForwardProfile::GateUp, ws_.router_scores);
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    ws_.expert_rows.route(static_cast<int>(r), ws_.router_scores.floats(r), data_of(layer.choice_bias));
  }
  timer.publish(team, ForwardProfile::GateUp, ws_.expert_rows);
  if (team.rank() == 0) {
    ws_.expert_rows.group();
    ws_.woken_experts += std::ssize(ws_.expert_rows.groups());
  }
  timer.publish(team, ForwardProfile::GateUp, ws_.expert_rows);
}

/// Of the feed-forward that all rows go through, with the activation. `x`: its rows, from `block_inputs`.
void ForwardPass::multiply_gate_up(const Team& team, int index, const void* x) const {
  const LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
  const int rows = layout_.rows();
  const InputForm form = layer.down.input_form();
  const Activation activation = config_.layer(index).activation;
  const Range panels = team.split(layer.gate_up.panels(), panels_at_once(form, activation));
  multiply(team,
           {.name = ProductInput::GateUp,
            .layer = index,
            .matrix = layer.gate_up,
            .x = x,
            .x_stride = ws_.block_inputs.shared.stride(),
            .rows = rows,
            .out = &ws_.gate_up,
            .bias = data_of(layer.gate_up_bias)},
           panels);
  activate(ws_.gate_up, ws_.down_inputs, {0, rows}, panels, form, activation);
}

void ForwardPass::expert_block(Team& team, int index, Timer& timer) const {
  const LayerSpec& spec = config_.layer(index);
  const LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
  route_rows(team, index, timer);
  const ExpertRows& routed = ws_.expert_rows;
  const auto router_input = [&](std::int64_t r) {
    return static_cast<const float*>(ws_.router_inputs.row(InputForm::F32, r));
  };
  const std::int64_t latent = spec.experts.latent;
  if (latent > 0) enter_latent(team, index, timer);
  const auto expert_input = [&](std::int64_t r) {
    return latent > 0 ? static_cast<const float*>(ws_.latent_rows.floats(r)) : router_input(r);
  };
  // All experts of a layer are of the types of the first, see pack_experts().
  const InputForm gate_up_form = layer.experts.front().gate_up.input_form();
  const InputForm down_form = layer.experts.front().down.input_form();
  const Range places = team.split(routed.places());
  for (std::int64_t p = places.begin; p < places.end; ++p) {
    convert_row(expert_input(routed.row_at(static_cast<int>(p))), latent > 0 ? latent : config_.hidden,
                gate_up_form, ws_.expert_inputs.row(gate_up_form, p));
  }
  timer.publish(team, ForwardProfile::Norm, ws_.expert_inputs);
  for (const ExpertRows::Group& group : routed.groups()) {
    const ExpertWeights& expert = layer.experts[static_cast<std::size_t>(group.expert)];
    const Range panels = team.split(expert.gate_up.panels(), panels_at_once(down_form, spec.activation));
    multiply(team,
             {.name = ProductInput::GateUp,
              .layer = index,
              .expert = group.expert,
              .matrix = expert.gate_up,
              .x = ws_.expert_inputs.row(gate_up_form, group.first),
              .x_stride = ws_.expert_inputs.stride(),
              .rows = group.rows,
              .out = &ws_.expert_gate_up,
              .first_row = group.first,
              .bias = data_of(expert.gate_up_bias)},
             panels);
    activate(ws_.expert_gate_up, ws_.expert_down_inputs, {group.first, group.first + group.rows}, panels,
             down_form, spec.activation);
  }
  const bool shares = spec.experts.shared > 0;
  if (shares) {
    const void* x = prepare_rows(
        team, ws_, {.into = ws_.block_inputs, .form = layer.gate_up.input_form(), .width = config_.hidden},
        layout_.rows(), router_input);
    multiply_gate_up(team, index, x);
  }
  timer.publish(team, ForwardProfile::GateUp, ws_.expert_down_inputs, ws_.down_inputs);
  if (shares) {
    multiply(team,
             {.name = ProductInput::Down,
              .layer = index,
              .matrix = layer.down,
              .x = ws_.down_inputs.row(layer.down.input_form(), 0),
              .x_stride = ws_.down_inputs.stride(),
              .rows = layout_.rows(),
              .out = &ws_.expert_results,
              .first_row = routed.places()},
             team.split(layer.down.panels()));
  }
  for (const ExpertRows::Group& group : routed.groups()) {
    const ExpertWeights& expert = layer.experts[static_cast<std::size_t>(group.expert)];
    multiply(team,
             {.name = ProductInput::Down,
              .layer = index,
              .expert = group.expert,
              .matrix = expert.down,
              .x = ws_.expert_down_inputs.row(down_form, group.first),
              .x_stride = ws_.expert_down_inputs.stride(),
              .rows = group.rows,
              .out = &ws_.expert_results,
              .first_row = group.first,
              .bias = data_of(expert.down_bias)},
             team.split(expert.down.panels()));
  }
  timer.publish(team, ForwardProfile::Down, ws_.expert_results);
  const Range rows = team.split(layout_.rows());
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const auto row = static_cast<int>(r);
    float* const sum = latent > 0 ? ws_.latent_rows.floats(r) : ws_.residual.floats(r);
    if (latent > 0) std::fill_n(sum, latent, 0.0f);
    for (int i = 0; i < spec.experts.active; ++i) {
      add_scaled_row(sum, ws_.expert_results.floats(routed.place(row, i)),
                     latent > 0 ? routed.share(row, i) : routed.share(row, i) * spec.residual_scale,
                     latent > 0 ? latent : config_.hidden);
    }
    if (!shares) continue;
    const float scale = spec.experts.shared_gate ? gate_of(router_input(r), layer.shared_scale) : 1.0f;
    add_scaled_row(ws_.residual.floats(r), ws_.expert_results.floats(routed.places() + r),
                   scale * spec.residual_scale, config_.hidden);
  }
  timer.publish(team, ForwardProfile::Down, ws_.residual, ws_.latent_rows);
  if (latent > 0) leave_latent(team, index, timer);
}

/// What experts read, where that is not the rows after the norm.
void ForwardPass::enter_latent(Team& team, int index, Timer& timer) const {
  const PackedMatrix& matrix = layers_[static_cast<std::size_t>(index)].latent_in;
  const void* x = prepare_rows(
      team, ws_, {.into = ws_.block_inputs, .form = matrix.input_form(), .width = config_.hidden},
      layout_.rows(),
      [&](std::int64_t r) { return static_cast<const float*>(ws_.router_inputs.row(InputForm::F32, r)); });
  multiply(team,
           {.name = ProductInput::LatentIn,
            .layer = index,
            .matrix = matrix,
            .x = x,
            .x_stride = ws_.block_inputs.shared.stride(),
            .rows = layout_.rows(),
            .out = &ws_.latent_rows},
           team.split(matrix.panels()));
  timer.publish(team, ForwardProfile::GateUp, ws_.latent_rows);
}

/// Adds what the experts' sums become.
void ForwardPass::leave_latent(Team& team, int index, Timer& timer) const {
  const LayerWeights& layer = layers_[static_cast<std::size_t>(index)];
  const void* x = prepare_rows(
      team, ws_,
      {.into = ws_.latent_inputs, .form = layer.latent_out.input_form(), .width = layer.latent_out.k()},
      layout_.rows(), [&](std::int64_t r) { return ws_.latent_rows.floats(r); });
  multiply_into_residual(team,
                         {.product = {.name = ProductInput::LatentOut,
                                      .layer = index,
                                      .matrix = layer.latent_out,
                                      .x = x,
                                      .x_stride = ws_.latent_inputs.shared.stride(),
                                      .rows = layout_.rows()},
                          .norm = layer.mlp_after_norm,
                          .scale = config_.layer(index).residual_scale,
                          .step = ForwardProfile::Down},
                         timer);
}

}  // namespace augur
