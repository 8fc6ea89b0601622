#include "support/slow_stack.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "base/error.h"
#include "kernels/ops.h"
#include "kernels/recurrence.h"
#include "model/expert_rows.h"
#include "model/kv_cache.h"
#include "model/layer_spec.h"
#include "model/recurrent_memory.h"

namespace augur::testing_support {

namespace {

constexpr std::int64_t kPanel = PackedMatrix::kPanel;

const float* data_of(std::span<const float> values) {
  return values.empty() ? nullptr : values.data();
}

/// Memory as kernels want it: zeros, aligned to 64 bytes.
struct Aligned {
  explicit Aligned(std::size_t bytes)
      : data(static_cast<std::byte*>(::operator new(bytes + 64, std::align_val_t(64)))) {
    std::memset(data, 0, bytes + 64);
  }
  ~Aligned() { ::operator delete(data, std::align_val_t(64)); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  float* floats() const { return reinterpret_cast<float*>(data); }

  std::byte* const data;
};

/// Rows as a product reads them, and where its results go.
struct Operands {
  Operands(const PackedMatrix& matrix, const SlowRows& rows, std::int64_t panels)
      : stride(activation_stride(matrix.k())),
        out_stride(panels * kPanel),
        x(static_cast<std::size_t>(rows.count * row_bytes(matrix.input_form(), stride))),
        y(static_cast<std::size_t>(rows.count * out_stride) * sizeof(float)) {
    for (std::int64_t r = 0; r < rows.count; ++r) {
      convert_row(rows.row(r), matrix.k(), matrix.input_form(),
                  x.data + r * row_bytes(matrix.input_form(), stride));
    }
    call = {.weight = &matrix,
            .x = x.data,
            .x_stride = stride,
            .rows = static_cast<int>(rows.count),
            .y = y.floats(),
            .y_stride = out_stride};
  }

  std::int64_t stride;      ///< elements
  std::int64_t out_stride;  ///< elements
  Aligned x, y;
  GemmCall call;
};

}  // namespace

void SlowProduct::run(const RowProduct& product, std::span<const float* const> rows) {
  if (rows.empty()) return;
  const PackedMatrix matrix = device_.seen(*product.matrix);
  SlowRows ready(std::ssize(rows), matrix.k());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    float* const row = ready.row(static_cast<std::int64_t>(r));
    if (product.norm.empty()) {
      std::copy_n(rows[r], matrix.k(), row);
    } else {
      rms_norm(rows[r], product.norm.data(), product.eps, matrix.k(), InputForm::F32, row);
    }
  }
  const PanelRun all{0, matrix.panels()};
  const std::span<const PanelRun> runs = product.runs.empty() ? std::span(&all, 1) : product.runs;
  const std::int64_t panels = count_panels(runs);
  Operands operands(matrix, ready, panels);
  operands.call.bias = data_of(product.bias);
  if (product.top != nullptr) {
    product.top->prepare(1, operands.call.rows, panels, product.best);
    SpinBarrier alone(1, 0);
    product.top->multiply(Team(0, 1, alone), device_.kernels(), operands.call, runs, product.columns,
                          product.form);
    product.top->merge();
  }
  if (product.out == nullptr) return;
  gemm_runs(device_.kernels(), operands.call, runs, {0, panels});
  for (std::int64_t r = 0; r < ready.count; ++r) {
    float* const y = operands.y.floats() + r * operands.out_stride;
    product.form.apply(y, operands.out_stride);
    std::copy_n(y, operands.out_stride, product.out + r * product.out_stride);
  }
}

SlowStack::SlowStack(const SlowDevice& device, const StackSpec& spec)
    : device_(device), config_(spec.config), kv_type_(spec.kv_type), layers_(spec.layers), head_(device) {
  for (const LayerSpec& kind : config_.kinds) {
    ropes_.emplace_back(make_rope_table(kind.rope, config_.head_dim, spec.context), spec.context);
  }
}

void SlowStack::forward(const BatchLayout& layout, const TokenBatch& batch, const ForwardOptions& options,
                        const PackedMatrix* embedding) {
  if (options.inputs != nullptr) throw Error("forward: the slow device shows nobody what its products read");
  for (RopeCache& rope : ropes_) rope.ensure(layout.max_position() + 1);
  const Pass pass{layout, batch, options};
  woken_experts_ = 0;
  read_.clear();
  enter(pass, embedding);
  const int last = options.last_layer < 0 ? config_.layers : options.last_layer;
  for (int index = options.first_layer; index < last; ++index) {
    read_taps(pass, index);
    const LayerSpec& spec = config_.layer(index);
    if (spec.mixes()) attention_block(pass, index);
    if (spec.experts.count > 0) {
      expert_block(index);
    } else if (spec.feeds_forward()) {
      feed_forward_block(index);
    }
  }
  read_taps(pass, last);
}

void SlowStack::enter(const Pass& pass, const PackedMatrix* embedding) {
  residual_ = SlowRows(pass.batch.rows(), config_.hidden);
  const float* const given = pass.options.first_layer > 0 ? pass.options.input : pass.options.embeddings;
  for (std::int64_t r = 0; r < residual_.count; ++r) {
    if (given != nullptr) {
      std::copy_n(given + r * config_.hidden, config_.hidden, residual_.row(r));
      continue;
    }
    device_.read_row(*embedding, pass.batch.tokens[static_cast<std::size_t>(r)], residual_.row(r));
    if (config_.embedding_scale != 1.0f) scale_row(residual_.row(r), config_.embedding_scale, config_.hidden);
  }
}

void SlowStack::read_taps(const Pass& pass, int index) const {
  for (const Tap& tap : pass.options.taps) {
    if (tap.layer != index) continue;
    for (std::int64_t r = 0; r < residual_.count; ++r) {
      std::copy_n(residual_.row(r), config_.hidden, tap.out + r * tap.out_stride);
    }
  }
}

SlowRows SlowStack::multiply(const PackedMatrix& matrix, const SlowRows& x,
                             const std::vector<float>& bias) const {
  const PackedMatrix near = device_.seen(matrix);
  Operands operands(near, x, near.panels());
  operands.call.bias = data_of(bias);
  device_.kernels().gemm(operands.call, {0, near.panels()});
  SlowRows out(x.count, operands.out_stride);
  std::copy_n(operands.y.floats(), out.values.size(), out.values.data());
  return out;
}

SlowRows SlowStack::multiply_qkv(int index, const SlowRows& x) const {
  const LayerWeights& weights = layer(index);
  SlowRows out(x.count, weights.qkv.panels() * kPanel);
  std::int64_t column = 0;
  for (const PackedMatrix& matrix : weights.qkv.matrices) {
    const std::int64_t width = matrix.panels() * kPanel;
    std::vector<float> bias;
    if (!weights.qkv_bias.empty()) {
      bias.assign(weights.qkv_bias.begin() + column, weights.qkv_bias.begin() + column + width);
    }
    const SlowRows columns = multiply(matrix, x, bias);
    for (std::int64_t r = 0; r < x.count; ++r) std::copy_n(columns.row(r), width, out.row(r) + column);
    column += width;
  }
  return out;
}

SlowRows SlowStack::normed(const SlowRows& x, const std::vector<float>& weight) const {
  if (weight.empty()) return x;
  SlowRows out(x.count, x.width);
  for (std::int64_t r = 0; r < x.count; ++r) {
    rms_norm(x.row(r), weight.data(), config_.norm_eps, x.width, InputForm::F32, out.row(r));
  }
  return out;
}

void SlowStack::rotate_and_store(const Pass& pass, int index, SlowRows& qkv) {
  const LayerWeights& weights = layer(index);
  const std::int64_t head_dim = config_.head_dim;
  const std::int64_t queries = config_.heads * head_dim;
  const std::int64_t keys = config_.kv_heads * head_dim;
  const LayerSpec& spec = config_.layer(index);
  const QkNorm norms = spec.qk_norm;
  const RopeCache& rope = ropes_[config_.kind(index)];
  const auto finish = [&](float* head, const std::vector<float>& norm, std::int64_t position) {
    for (const bool rotated : {false, true}) {
      if (norms == QkNorm::PerHead && spec.norms_rotated == rotated)
        rms_norm(head, norm.data(), config_.norm_eps, head_dim, InputForm::F32, head);
      if (!rotated && rope.dims() > 0) rope_rotate(head, rope.cos(position), rope.sin(position), rope.dims());
    }
  };
  for (std::int64_t r = 0; r < qkv.count; ++r) {
    float* const q = qkv.row(r);
    if (norms == QkNorm::Whole) {
      rms_norm(q, weights.q_norm.data(), config_.norm_eps, queries, InputForm::F32, q);
      rms_norm(q + queries, weights.k_norm.data(), config_.norm_eps, keys, InputForm::F32, q + queries);
    }
    const auto row = static_cast<int>(r);
    const KvLayerView view = device_.far_memory().follow(pass.layout.cache_of(row).layer(index), table_);
    const std::int64_t position = pass.batch.positions[static_cast<std::size_t>(r)];
    for (std::int64_t h = 0; h < config_.heads; ++h) {
      finish(q + h * head_dim, weights.q_norm, position);
      scale_row(q + h * head_dim, spec.query_growth.at(position), head_dim);
    }
    for (int h = 0; h < config_.kv_heads; ++h) {
      float* const key = q + queries + h * head_dim;
      finish(key, weights.k_norm, position);
      kv_store(view, h, pass.layout.slot(row), key, key + keys);
    }
  }
}

SlowRows SlowStack::attend(const Pass& pass, int index, const SlowRows& qkv) {
  const LayerSpec& spec = config_.layer(index);
  SlowRows out(qkv.count, std::int64_t{config_.heads} * config_.head_dim);
  for (const BatchLayout::Sequence& sequence : pass.layout.sequences()) {
    AttentionCall call = pass.layout.attention_call(sequence, index);
    call.kv = device_.far_memory().follow(call.kv, table_);
    call.scale =
        spec.score_scale > 0 ? spec.score_scale : 1.0f / std::sqrt(static_cast<float>(config_.head_dim));
    call.cap = spec.score_cap;
    call.sinks = data_of(layer(index).sinks);
    if (pass.options.block.empty()) call.window = spec.window;
    call.q = qkv.row(sequence.first_row);
    call.q_stride = qkv.width;
    call.out_form = InputForm::F32;
    call.out = out.row(sequence.first_row);
    call.out_stride = out.width;
    const Aligned scratch(attention_scratch_bytes(pass.layout.max_slots(), config_.heads / config_.kv_heads,
                                                  config_.head_dim, kv_type_));
    device_.kernels().attention(call, {0, attention_items(call)}, scratch.data);
  }
  return out;
}

SlowRows SlowStack::convolve(const Pass& pass, int index, const SlowRows& bcx) {
  const LayerWeights& weights = layer(index);
  const std::int64_t hidden = config_.hidden;
  SlowRows out(bcx.count, hidden);
  for (std::int64_t r = 0; r < bcx.count; ++r) {
    const auto row = static_cast<int>(r);
    const SlotRows slots = device_.far_memory().follow(pass.layout.cache_of(row).rows(index), table_);
    float* const own = slots.row(pass.layout.slot(row));
    for (std::int64_t i = 0; i < hidden; ++i) own[i] = bcx.row(r)[i] * bcx.row(r)[2 * hidden + i];
    const std::span<const std::int64_t> before = pass.layout.before(row);
    for (std::int64_t i = 0; i < hidden; ++i) {
      const float* tap = weights.taps.data() + i;
      float sum = 0;
      for (const std::int64_t slot : before) {
        if (slot >= 0) sum += *tap * slots.row(slot)[i];
        tap += hidden;
      }
      sum += *tap * own[i];
      if (!weights.taps_bias.empty()) sum += weights.taps_bias[static_cast<std::size_t>(i)];
      out.row(r)[i] = sum * bcx.row(r)[hidden + i];
    }
  }
  return out;
}

namespace {

/// One value head's S, [key][value], and its steps as RecurrentSpec has them.
struct SlowState {
  std::int64_t keys, values;
  std::vector<float> s = std::vector<float>(static_cast<std::size_t>(keys * values));

  float& at(std::int64_t i, std::int64_t j) { return s[static_cast<std::size_t>(i * values + j)]; }
  void decay(float alpha) {
    for (float& x : s) x *= alpha;
  }
  /// S^T x, column `j`.
  float read(const float* x, std::int64_t j) {
    float sum = 0;
    for (std::int64_t i = 0; i < keys; ++i) sum += at(i, j) * x[i];
    return sum;
  }
  void add(const float* k, const float* d) {
    for (std::int64_t i = 0; i < keys; ++i) {
      for (std::int64_t j = 0; j < values; ++j) at(i, j) += d[j] * k[i];
    }
  }
};

}  // namespace

SlowRows SlowStack::run_recurrent(const Pass& pass, int index, const SlowRows& x, const SlowRows& qkvz) {
  const LayerWeights& weights = layer(index);
  const RecurrentSpec& spec = config_.layer(index).recurrent;
  const RecurrentMemory memory(spec);
  const std::int64_t channels = spec.channels();
  const std::int64_t reach = spec.taps - 1;
  const SlowRows gates = multiply(weights.recurrent_gates, x, {});
  SlowRows out(x.count, spec.values());
  for (const BatchLayout::Sequence& sequence : pass.layout.sequences()) {
    const LayerState state = device_.far_memory().follow(sequence.cache->state(index));
    const SlotRows records = device_.far_memory().follow(sequence.cache->records(index), table_);
    const auto conv_row = [&](std::int64_t slot) -> const float* {
      if (slot < 0) return nullptr;
      if (const int row = pass.layout.row_in(sequence, slot); row >= 0) return qkvz.row(row);
      if (slot >= state.folded) return records.row(slot) + memory.channels();
      return state.from + memory.tail(slot - (state.folded - reach));
    };
    SlowRows rows(sequence.rows, channels);
    const auto mine = [&](int row) { return rows.row(row - sequence.first_row); };
    for (int row = sequence.first_row; row < sequence.first_row + sequence.rows; ++row) {
      std::vector<const float*> seen;
      for (const std::int64_t slot : pass.layout.before(row)) seen.push_back(conv_row(slot));
      seen.push_back(qkvz.row(row));
      for (std::int64_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (std::size_t t = 0; t < seen.size(); ++t) {
          if (seen[t] != nullptr)
            sum += weights.taps[t * static_cast<std::size_t>(channels) + static_cast<std::size_t>(c)] *
                   seen[t][c];
        }
        if (spec.conv_bias) sum += weights.taps_bias[static_cast<std::size_t>(c)];
        mine(row)[c] = sum;
      }
      const std::vector<float> ones(static_cast<std::size_t>(channels), 1.0f);
      silu_mul(mine(row), ones.data(), channels, InputForm::F32, mine(row));
      for (int h = 0; !spec.mamba() && h < spec.key_heads; ++h) {
        float* const q = mine(row) + memory.k(h);
        unit_row(q, spec.key_dim, 1e-6f, 1.0f / std::sqrt(static_cast<float>(spec.key_dim)), q);
        unit_row(q + spec.keys(), spec.key_dim, 1e-6f, 1.0f, q + spec.keys());
      }
      if (pass.layout.slot(row) < sequence.first_record) continue;
      float* const record = records.row(pass.layout.slot(row));
      std::copy_n(qkvz.row(row), channels, record + memory.channels());
      std::copy_n(mine(row) + spec.keys(), spec.keys(), record);
    }
    const bool folds = state.folded < sequence.fold_to;
    if (folds) {
      SlowRows tail(reach, channels);
      for (std::int64_t i = 0; i < reach; ++i) {
        const float* const from = conv_row(sequence.fold_to - reach + i);
        if (from != nullptr) std::copy_n(from, channels, tail.row(i));
      }
      std::copy_n(tail.values.data(), tail.values.size(), state.to + memory.tail(0));
    }
    for (int h = 0; h < spec.value_heads; ++h) {
      const int key = spec.key_head(h);
      SlowState s{spec.key_dim, spec.value_dim};
      const auto tiled = [&](std::int64_t i, std::int64_t j) {
        return memory.head(h) + j / memory.tile() * memory.tile_floats() + i * memory.tile() +
               j % memory.tile();
      };
      for (std::int64_t i = 0; state.from != nullptr && i < spec.key_dim; ++i) {
        for (std::int64_t j = 0; j < spec.value_dim; ++j) s.at(i, j) = state.from[tiled(i, j)];
      }
      const auto fold = [&](bool now) {
        for (std::int64_t i = 0; now && folds && i < spec.key_dim; ++i) {
          for (std::int64_t j = 0; j < spec.value_dim; ++j) state.to[tiled(i, j)] = s.at(i, j);
        }
      };
      const auto replay = [&](std::int64_t slot) {
        const float* const record = records.row(slot);
        s.decay(record[memory.alpha(h)]);
        s.add(record + memory.k(key), record + memory.d(h));
      };
      const auto run = [&](int row) {
        const float* const q = mine(row) + memory.k(key);
        const float* const k = q + spec.keys();
        const float* const v = mine(row) + 2 * spec.keys() + h * spec.value_dim;
        const auto head = static_cast<std::size_t>(h);
        const float* const z = qkvz.row(row) + channels + h * spec.value_dim;
        float* const o = out.row(row) + h * spec.value_dim;
        std::vector<float> d;
        float alpha = 0;
        if (spec.mamba()) {
          float step = 0;
          softplus_row(gates.row(row) + h, &weights.recurrent_bias[head], 1, &step);
          step = std::min(std::max(step, spec.step_min), spec.step_max);
          decay_row(&step, &weights.recurrent_decay[head], 1, &alpha);
          s.decay(alpha);
          for (std::int64_t j = 0; j < spec.value_dim; ++j) d.push_back(v[j] * step);
          s.add(k, d.data());
          for (std::int64_t j = 0; j < spec.value_dim; ++j)
            o[j] = s.read(q, j) + v[j] * weights.recurrent_skip[head];
          silu_mul(z, o, spec.value_dim, InputForm::F32, o);
        } else {
          float beta = 0;
          sigmoid_row(gates.row(row) + h, 1, &beta);
          softplus_row(gates.row(row) + gates.width / 2 + h, &weights.recurrent_bias[head], 1, &alpha);
          decay_row(&alpha, &weights.recurrent_decay[head], 1, &alpha);
          s.decay(alpha);
          for (std::int64_t j = 0; j < spec.value_dim; ++j) d.push_back((v[j] - s.read(k, j)) * beta);
          s.add(k, d.data());
          for (std::int64_t j = 0; j < spec.value_dim; ++j) o[j] = s.read(q, j);
          rms_norm(o, weights.recurrent_norm.data(), config_.norm_eps, spec.value_dim, InputForm::F32, o);
          silu_mul(z, o, spec.value_dim, InputForm::F32, o);
        }
        if (pass.layout.slot(row) < sequence.first_record) return;
        float* const record = records.row(pass.layout.slot(row));
        record[memory.alpha(h)] = alpha;
        std::copy(d.begin(), d.end(), record + memory.d(h));
      };
      for (std::int64_t slot = state.folded; slot < sequence.base; ++slot) {
        fold(slot == sequence.fold_to);
        replay(slot);
      }
      fold(sequence.fold_to == sequence.base);
      std::vector<SlowState> aside(static_cast<std::size_t>(pass.layout.aside()), s);
      for (const StateStep& step : pass.layout.state_steps(sequence)) {
        if (step.kind == StateStep::Run) run(static_cast<int>(step.at));
        if (step.kind == StateStep::Replay) replay(step.at);
        fold(step.kind == StateStep::Fold);
        if (step.kind == StateStep::PutAside) aside[static_cast<std::size_t>(step.at)] = s;
        if (step.kind == StateStep::Recall) s = aside[static_cast<std::size_t>(step.at)];
      }
    }
  }
  for (std::int64_t r = 0; spec.mamba() && r < out.count; ++r) {
    for (std::int64_t first = 0; first < spec.values(); first += spec.norm_width()) {
      rms_norm(out.row(r) + first, weights.recurrent_norm.data() + first, config_.norm_eps, spec.norm_width(),
               InputForm::F32, out.row(r) + first);
    }
  }
  return out;
}

void SlowStack::attention_block(const Pass& pass, int index) {
  const LayerWeights& weights = layer(index);
  SlowRows x;
  if (index == pass.options.first_layer && pass.options.attention_input != nullptr) {
    x = SlowRows(residual_.count, weights.qkv.k());
    std::copy_n(pass.options.attention_input, x.values.size(), x.values.data());
  } else {
    x = normed(residual_, weights.attention_norm);
  }
  SlowRows qkv = multiply_qkv(index, x);
  SlowRows mixed;
  if (config_.layer(index).attends()) {
    rotate_and_store(pass, index, qkv);
    mixed = attend(pass, index, qkv);
    if (config_.layer(index).gated) {
      const std::int64_t gates = std::int64_t{config_.heads + 2 * config_.kv_heads} * config_.head_dim;
      for (std::int64_t r = 0; r < mixed.count; ++r)
        sigmoid_mul(qkv.row(r) + gates, mixed.row(r), mixed.width, InputForm::F32, mixed.row(r));
    }
  } else if (config_.layer(index).recurs()) {
    mixed = run_recurrent(pass, index, x, qkv);
  } else {
    mixed = convolve(pass, index, qkv);
  }
  add(multiply(weights.o, mixed, weights.o_bias), weights.attention_after_norm,
      config_.layer(index).residual_scale);
}

/// What a block gives, on its way to the residual stream.
void SlowStack::add(SlowRows added, const std::vector<float>& norm, float scale) {
  for (std::int64_t r = 0; r < added.count; ++r) {
    float* const row = added.row(r);
    if (!norm.empty()) rms_norm(row, norm.data(), config_.norm_eps, config_.hidden, InputForm::F32, row);
    if (norm.empty() && scale == 1.0f) {
      add_row(residual_.row(r), row, config_.hidden);
    } else {
      add_scaled_row(residual_.row(r), row, scale, config_.hidden);
    }
  }
}

SlowRows SlowStack::feed_forward(const PackedMatrix& gate_up, const std::vector<float>& gate_up_bias,
                                 const PackedMatrix& down, const std::vector<float>& down_bias,
                                 Activation activation, const SlowRows& x) const {
  const SlowRows pairs = multiply(gate_up, x, gate_up_bias);
  if (!is_gated(activation)) {
    SlowRows activated = pairs;
    for (float& v : activated.values) v = v < 0 ? 0.0f : v * v;
    return multiply(down, activated, down_bias);
  }
  SlowRows activated(x.count, pairs.width / 2);
  for (std::int64_t r = 0; r < x.count; ++r) {
    const auto apply = activation == Activation::Silu       ? silu_mul_panels
                       : activation == Activation::GeluTanh ? gelu_mul_panels
                                                            : clamped_swiglu_panels;
    apply(pairs.row(r), pairs.width / (2 * kPanel), InputForm::F32, activated.row(r));
  }
  return multiply(down, activated, down_bias);
}

void SlowStack::feed_forward_block(int index) {
  const LayerWeights& weights = layer(index);
  const LayerSpec& spec = config_.layer(index);
  add(feed_forward(weights.gate_up, weights.gate_up_bias, weights.down, weights.down_bias, spec.activation,
                   normed(residual_, weights.mlp_norm)),
      weights.mlp_after_norm, spec.residual_scale);
}

void SlowStack::expert_block(int index) {
  const LayerWeights& weights = layer(index);
  const LayerSpec& spec = config_.layer(index);
  const auto rows = static_cast<int>(residual_.count);
  const SlowRows routed = normed(residual_, weights.mlp_norm);
  SlowRows scores = multiply(weights.router, routed, weights.router_bias);
  ExpertRows choice;
  choice.reserve(spec.experts, rows);
  choice.reset(spec.experts, rows);
  for (int r = 0; r < rows; ++r) choice.route(r, scores.row(r), data_of(weights.choice_bias));
  choice.group();
  woken_experts_ += std::ssize(choice.groups());
  const int latent = spec.experts.latent;
  const SlowRows read = latent > 0 ? multiply(weights.latent_in, routed, {}) : routed;
  const std::int64_t width = latent > 0 ? latent : config_.hidden;
  SlowRows results(choice.places(), width);
  for (const ExpertRows::Group& group : choice.groups()) {
    const ExpertWeights& expert = weights.experts[static_cast<std::size_t>(group.expert)];
    SlowRows x(group.rows, width);
    for (int i = 0; i < group.rows; ++i) {
      std::copy_n(read.row(choice.row_at(group.first + i)), width, x.row(i));
    }
    const SlowRows given =
        feed_forward(expert.gate_up, expert.gate_up_bias, expert.down, expert.down_bias, spec.activation, x);
    for (int i = 0; i < group.rows; ++i) {
      std::copy_n(given.row(i), width, results.row(group.first + i));
    }
  }
  SlowRows shared;
  if (spec.experts.shared > 0) {
    shared = feed_forward(weights.gate_up, weights.gate_up_bias, weights.down, {}, spec.activation, routed);
  }
  SlowRows together(latent > 0 ? rows : 0, width);
  for (int r = 0; r < rows; ++r) {
    for (int i = 0; i < spec.experts.active; ++i) {
      const float share = choice.share(r, i);
      add_scaled_row(latent > 0 ? together.row(r) : residual_.row(r), results.row(choice.place(r, i)),
                     latent > 0 ? share : share * spec.residual_scale, width);
    }
    if (shared.count == 0) continue;
    if (!spec.experts.shared_gate) {
      add_scaled_row(residual_.row(r), shared.row(r), spec.residual_scale, config_.hidden);
      continue;
    }
    float sums[16] = {};
    for (std::size_t i = 0; i < weights.shared_scale.size(); ++i) {
      sums[i % 16] += routed.row(r)[i] * weights.shared_scale[i];
    }
    for (std::size_t half = 8; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    }
    float gate = 0;
    sigmoid_row(sums, 1, &gate);
    add_scaled_row(residual_.row(r), shared.row(r), gate * spec.residual_scale, config_.hidden);
  }
  if (latent > 0)
    add(multiply(weights.latent_out, together, {}), weights.mlp_after_norm, spec.residual_scale);
}

void SlowStack::store(const BatchLayout& layout, const TokenBatch& batch, const float* rows) {
  for (RopeCache& rope : ropes_) rope.ensure(layout.max_position() + 1);
  const ForwardOptions options;
  SlowRows given(batch.rows(), config_.hidden);
  std::copy_n(rows, given.values.size(), given.values.data());
  for (int index = 0; index < config_.layers; ++index) {
    SlowRows qkv = multiply_qkv(index, given);
    rotate_and_store({layout, batch, options}, index, qkv);
  }
}

std::span<const float> SlowStack::read_result() {
  if (read_.empty()) read_ = residual_.values;
  return read_;
}

void SlowStack::project(const RowProduct& product, std::span<const std::int32_t> rows) {
  std::vector<const float*> chosen;
  for (const std::int32_t row : rows) chosen.push_back(residual_.row(row));
  head_.run(product, chosen);
}

}  // namespace augur::testing_support
