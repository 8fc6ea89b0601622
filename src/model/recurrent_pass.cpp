#include "model/recurrent_pass.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/ops.h"
#include "kernels/recurrence.h"
#include "model/config_bounds.h"
#include "model/kv_cache.h"

namespace augur {

namespace {

constexpr float kUnitEps = 1e-6f;  // of queries' and keys' lengths (Qwen3-Next's l2norm)

}  // namespace

std::size_t RecurrentPass::scratch_bytes(const RecurrentSpec& spec, int aside) {
  const RecurrentMemory memory(spec);
  return static_cast<std::size_t>((1 + aside) * memory.tile_floats() + memory.tile()) * sizeof(float);
}

void RecurrentPass::convolve(const Team& team) const {
  const Range heads = team.split(2 * in_.spec.key_heads + in_.spec.value_heads);
  for (std::int64_t head = heads.begin; head < heads.end; ++head) {
    for (const BatchLayout::Sequence& sequence : in_.layout.sequences())
      convolve_head(static_cast<int>(head), sequence);
  }
}

/// `head`: of queries, then of keys, then of values.
void RecurrentPass::convolve_head(int head, const BatchLayout::Sequence& sequence) const {
  const RecurrentSpec& spec = in_.spec;
  Workspace& ws = in_.workspace;
  const bool query = head < spec.key_heads;
  const bool key = !query && head < 2 * spec.key_heads;
  const std::int64_t first = head < 2 * spec.key_heads
                                 ? std::int64_t{head} * spec.key_dim
                                 : 2 * spec.keys() + std::int64_t{head - 2 * spec.key_heads} * spec.value_dim;
  const std::int64_t width = query || key ? spec.key_dim : spec.value_dim;
  const LayerState state = sequence.cache->state(in_.layer);
  const SlotRows records = sequence.cache->records(in_.layer);
  const std::int64_t reach = spec.taps - 1;
  const auto seen = [&](std::int64_t slot) -> const float* {
    if (slot < 0) return nullptr;
    if (const int row = in_.layout.row_in(sequence, slot); row >= 0) return ws.qkv.floats(row) + first;
    if (slot >= state.folded) return records.row(slot) + memory_.channels() + first;
    return state.from + memory_.tail(slot - (state.folded - reach)) + first;
  };
  std::array<const float*, kMaxTaps> rows;
  for (int row = sequence.first_row; row < sequence.first_row + sequence.rows; ++row) {
    std::size_t count = 0;
    for (const std::int64_t slot : in_.layout.before(row)) rows[count++] = seen(slot);
    rows[count++] = ws.qkv.floats(row) + first;
    float* const out = ws.recurrent_rows.floats(row) + first;
    convolve_row({rows.data(), count}, in_.weights.taps.data() + first, spec.channels(),
                 spec.conv_bias ? in_.weights.taps_bias.data() + first : nullptr, nullptr, width,
                 InputForm::F32, out);
    if (query && !spec.mamba())
      unit_row(out, width, kUnitEps, 1.0f / std::sqrt(static_cast<float>(spec.key_dim)), out);
    if (key && !spec.mamba()) unit_row(out, width, kUnitEps, 1.0f, out);
    if (in_.layout.slot(row) < sequence.first_record) continue;
    float* const record = records.row(in_.layout.slot(row));
    std::copy_n(ws.qkv.floats(row) + first, width, record + memory_.channels() + first);
    if (key) std::copy_n(out, width, record + memory_.k(head - spec.key_heads));
  }
  if (state.folded >= sequence.fold_to) return;
  // The old tail may lie where the new one comes to: from the oldest on, each row is read before it is
  // written over.
  for (std::int64_t i = 0; i < reach; ++i) {
    const std::int64_t slot = sequence.fold_to - reach + i;
    const float* const from = seen(slot);
    float* const to = state.to + memory_.tail(i) + first;
    if (from == nullptr) {
      std::fill_n(to, width, 0.0f);
    } else if (from != to) {
      std::copy_n(from, width, to);
    }
  }
}

/// A value head, as one thread goes through it.
struct RecurrentPass::Head {
  int value;
  int key;
  float* scratch;
  StateTraffic* traffic;
};

void RecurrentPass::recur(const Team& team, InputForm form) const {
  const RecurrentSpec& spec = in_.spec;
  Workspace& ws = in_.workspace;
  const Range heads = team.split(spec.value_heads);
  prepare_gates(heads);
  for (std::int64_t h = heads.begin; h < heads.end; ++h) {
    const auto value = static_cast<int>(h);
    const Head head{.value = value,
                    .key = spec.key_head(value),
                    .scratch = reinterpret_cast<float*>(ws.scratch(team.rank())),
                    .traffic = &ws.state_traffic[static_cast<std::size_t>(team.rank())]};
    for (const BatchLayout::Sequence& sequence : in_.layout.sequences()) {
      for (std::int64_t column = 0; column < spec.value_dim; column += memory_.tile())
        run_tile(head, sequence, column);
    }
    finish_head(value, form);
  }
}

/// What a head gives, on its way out.
void RecurrentPass::finish_head(int value_head, InputForm form) const {
  const RecurrentSpec& spec = in_.spec;
  Workspace& ws = in_.workspace;
  const std::int64_t first = std::int64_t{value_head} * spec.value_dim;
  for (int row = 0; row < in_.layout.rows(); ++row) {
    float* const out = ws.recurrent_rows.floats(row) + 2 * spec.keys() + first;
    const float* const z = ws.qkv.floats(row) + spec.channels() + first;
    if (norms()) {
      silu_mul(z, out, spec.value_dim, InputForm::F32, out);
      continue;
    }
    rms_norm(out, in_.weights.recurrent_norm.data(), in_.norm_eps, spec.value_dim, InputForm::F32, out);
    silu_mul(z, out, spec.value_dim, form,
             static_cast<std::byte*>(ws.attention_results.row(form, row)) + row_bytes(form, first));
  }
}

void RecurrentPass::norm(const Team& team, InputForm form) const {
  const RecurrentSpec& spec = in_.spec;
  Workspace& ws = in_.workspace;
  const std::int64_t width = spec.norm_width();
  const Range items = team.split(std::int64_t{spec.key_heads} * in_.layout.rows());
  for (std::int64_t i = items.begin; i < items.end; ++i) {
    const std::int64_t row = i / spec.key_heads;
    const std::int64_t first = i % spec.key_heads * width;
    rms_norm(ws.recurrent_rows.floats(row) + 2 * spec.keys() + first,
             in_.weights.recurrent_norm.data() + first, in_.norm_eps, width, form,
             static_cast<std::byte*>(ws.attention_results.row(form, row)) + row_bytes(form, first));
  }
}

/// b becomes beta, and a alpha; or dt becomes the step, and alpha is made of it.
void RecurrentPass::prepare_gates(const Range& heads) const {
  const RecurrentSpec& spec = in_.spec;
  const std::int64_t count = heads.size();
  const float* const bias = in_.weights.recurrent_bias.data() + heads.begin;
  const float* const decay = in_.weights.recurrent_decay.data() + heads.begin;
  for (int row = 0; row < in_.layout.rows(); ++row) {
    float* const first = in_.workspace.recurrent_gates.floats(row) + heads.begin;
    float* const alpha = first + in_.workspace.recurrent_gates.stride() / 2;
    if (spec.mamba()) {
      softplus_row(first, bias, count, first);
      for (std::int64_t h = 0; h < count; ++h) first[h] = std::clamp(first[h], spec.step_min, spec.step_max);
      decay_row(first, decay, count, alpha);
      continue;
    }
    sigmoid_row(first, count, first);
    softplus_row(alpha, bias, count, alpha);
    decay_row(alpha, decay, count, alpha);
  }
}

void RecurrentPass::run_tile(const Head& head, const BatchLayout::Sequence& sequence,
                             std::int64_t column) const {
  const RecurrentSpec& spec = in_.spec;
  Workspace& ws = in_.workspace;
  const std::int64_t width = memory_.tile();
  const std::int64_t floats = memory_.tile_floats();
  const std::int64_t place = memory_.head(head.value) + column * spec.key_dim;
  const LayerState state = sequence.cache->state(in_.layer);
  const SlotRows records = sequence.cache->records(in_.layer);
  float* const tile = head.scratch;
  float* const aside = tile + floats;
  float* const unrecorded = aside + in_.layout.aside() * floats;
  const auto replay = [&](std::int64_t slot) {
    const float* const record = records.row(slot);
    replay_state(tile, spec.key_dim, width, record + memory_.k(head.key),
                 record + memory_.d(head.value) + column, record[memory_.alpha(head.value)]);
  };
  const auto run = [&](int row) {
    float* const rows = ws.recurrent_rows.floats(row);
    float* const gates = ws.recurrent_gates.floats(row);
    const float alpha = gates[ws.recurrent_gates.stride() / 2 + head.value];
    float* const v = rows + 2 * spec.keys() + std::int64_t{head.value} * spec.value_dim + column;
    float* d = unrecorded;
    if (in_.layout.slot(row) >= sequence.first_record) {
      float* const record = records.row(in_.layout.slot(row));
      record[memory_.alpha(head.value)] = alpha;
      d = record + memory_.d(head.value) + column;
    }
    const float* const q = rows + memory_.k(head.key);
    const float* const k = q + spec.keys();
    const float gate = gates[head.value];
    if (spec.mamba()) {
      mamba_token(tile, spec.key_dim, width, q, k, v, alpha, gate,
                  in_.weights.recurrent_skip[static_cast<std::size_t>(head.value)], d, v);
    } else {
      delta_token(tile, spec.key_dim, width, q, k, v, alpha, gate, d, v);
    }
  };
  const bool folds = state.folded < sequence.fold_to;
  const auto fold = [&] {
    if (!folds) return;
    std::copy_n(tile, floats, state.to + place);
    ++head.traffic->written;
  };

  if (state.from == nullptr) {
    std::fill_n(tile, floats, 0.0f);
  } else {
    std::copy_n(state.from + place, floats, tile);
    ++head.traffic->read;
  }
  for (std::int64_t slot = state.folded; slot < sequence.base; ++slot) {
    if (slot == sequence.fold_to) fold();
    replay(slot);
  }
  if (sequence.fold_to == sequence.base) fold();
  for (const StateStep& step : in_.layout.state_steps(sequence)) {
    switch (step.kind) {
      case StateStep::Run:
        run(static_cast<int>(step.at));
        break;
      case StateStep::Replay:
        replay(step.at);
        break;
      case StateStep::Fold:
        fold();
        break;
      case StateStep::PutAside:
        std::copy_n(tile, floats, aside + step.at * floats);
        break;
      case StateStep::Recall:
        std::copy_n(aside + step.at * floats, floats, tile);
        break;
    }
  }
}

}  // namespace augur
