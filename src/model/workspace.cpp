#include "model/workspace.h"

namespace augur {

namespace {
constexpr std::int64_t kResultGrain = 16;

constexpr std::int64_t round_up(std::int64_t width) {
  return (width + kResultGrain - 1) / kResultGrain * kResultGrain;
}

/// Floats of a row of pairs of 16 gate and 16 up values, or of up's alone.
std::int64_t gate_up_width(const ModelConfig& config, std::int64_t intermediate) {
  const bool gated = std::ranges::any_of(config.kinds, [](const auto& k) { return is_gated(k.activation); });
  return (gated ? 2 : 1) * round_up(intermediate);
}

/// Of the feed-forwards that all rows go through.
std::int64_t intermediate_width(const ModelConfig& config) {
  return std::max(config.intermediate, config.experts().shared);
}
/// Of what a layer's first product gives.
std::int64_t mixed_width(const ModelConfig& config) {
  const std::int64_t heads = std::int64_t{config.heads + 2 * config.kv_heads} * config.head_dim;
  std::int64_t most = 0;
  for (const LayerSpec& kind : config.kinds) {
    most = std::max(most, kind.conv.taps > 0 ? std::int64_t{3} * config.hidden
                          : kind.recurs()    ? kind.recurrent.channels() + kind.recurrent.values()
                          : kind.gated       ? heads + std::int64_t{config.heads} * config.head_dim
                                             : heads);
  }
  return most;
}

/// Of what its output product reads.
std::int64_t output_width(const ModelConfig& config) {
  const std::int64_t heads = std::int64_t{config.heads} * config.head_dim;
  return std::max(
      {heads, config.conv().taps > 0 ? std::int64_t{config.hidden} : 0, config.recurrent().values()});
}
}  // namespace

Workspace::Workspace(const ModelConfig& config, int thread_count, std::int64_t given_width)
    : threads(thread_count),
      own_rows(std::max<std::int64_t>(1, kOwnElements / config.hidden)),
      experts(config.experts()),
      recurrent(config.recurrent()),
      any_gated(
          std::any_of(config.kinds.begin(), config.kinds.end(), [](const LayerSpec& k) { return k.gated; })),
      any_block_results(std::any_of(config.kinds.begin(), config.kinds.end(), has_block_results)),
      residual(InputForm::F32, config.hidden, kResultGrain),
      block_results(InputForm::F32, config.hidden, kResultGrain),
      block_inputs(config.hidden),
      given_inputs(given_width),
      qkv(InputForm::F32, mixed_width(config), kResultGrain),
      recurrent_rows(InputForm::F32, recurrent.channels(), kResultGrain),
      recurrent_gates(InputForm::F32, 2 * round_up(recurrent.value_heads), kResultGrain),
      attention_results(output_width(config)),
      output_inputs(output_width(config)),
      gate_up(InputForm::F32, gate_up_width(config, intermediate_width(config)), kResultGrain),
      down_inputs(intermediate_width(config)),
      router_inputs(config.hidden),
      router_scores(InputForm::F32, experts.count, kResultGrain),
      latent_rows(InputForm::F32, experts.latent, kResultGrain),
      latent_inputs(experts.latent),
      expert_inputs(experts.latent > 0 ? experts.latent : config.hidden),
      expert_gate_up(InputForm::F32, gate_up_width(config, experts.width), kResultGrain),
      expert_down_inputs(experts.width),
      expert_results(InputForm::F32, std::max(config.hidden, experts.latent), kResultGrain),
      state_traffic(static_cast<std::size_t>(thread_count)),
      unpadded_residual(InputForm::F32, config.hidden, 1) {}

std::int64_t Workspace::estimated_bytes(std::int64_t rows) const {
  std::int64_t floats = residual.stride() + qkv.stride() + gate_up.stride() + recurrent_rows.stride() +
                        recurrent_gates.stride() + attention_results.stride() + down_inputs.stride() / 2 +
                        block_inputs.shared.stride() / 2;
  if (any_block_results) floats += block_results.stride();
  if (experts.count > 0) {
    const std::int64_t of_place = expert_gate_up.stride() + expert_results.stride() +
                                  (expert_inputs.stride() + expert_down_inputs.stride()) / 2;
    floats += router_inputs.stride() + router_scores.stride() + experts.active * of_place;
  }
  return rows * floats * static_cast<std::int64_t>(sizeof(float));
}

void Workspace::ensure_prepared(PreparedRows& prepared, InputForm form, std::int64_t rows) {
  if (prepares_own(rows)) {
    prepared.own.ensure(form, threads * own_rows);
  } else {
    prepared.shared.ensure(form, rows);
  }
}

void Workspace::ensure_forward(std::int64_t rows, std::span<const InputForm> forms,
                               std::size_t scratch_bytes) {
  residual.ensure(rows);
  if (any_block_results) block_results.ensure(rows);
  qkv.ensure(rows);
  gate_up.ensure(rows);
  if (residual.stride() != unpadded_residual.stride()) unpadded_residual.ensure(rows);
  for (const InputForm form : forms) {
    ensure_prepared(block_inputs, form, rows);
    if (given_inputs.stride() > 0) given_inputs.ensure(form, rows);
    if (form == InputForm::Blocks16) continue;  // queries, keys and values only
    if (form == InputForm::Blocks8) ensure_prepared(output_inputs, form, rows);
    attention_results.ensure(form == InputForm::BF16 ? InputForm::BF16 : InputForm::F32, rows);
    down_inputs.ensure(form, rows);
  }
  if (any_gated) attention_results.ensure(InputForm::F32, rows);
  if (recurrent.key_heads > 0) {
    recurrent_rows.ensure(rows);
    recurrent_gates.ensure(rows);
    router_inputs.ensure(InputForm::F32, rows);
  }
  if (experts.count > 0) {
    const std::int64_t places = rows * experts.active;
    expert_rows.reserve(experts, rows);
    router_inputs.ensure(InputForm::F32, rows);
    router_scores.ensure(rows);
    if (experts.latent > 0) latent_rows.ensure(rows);
    expert_gate_up.ensure(places);
    expert_results.ensure(places + (experts.shared > 0 ? rows : 0));
    for (const InputForm form : forms) {
      if (form == InputForm::Blocks16) continue;
      if (experts.latent > 0) ensure_prepared(latent_inputs, form, rows);
      expert_inputs.ensure(form, places);
      expert_down_inputs.ensure(form, places);
    }
  }
  if (scratch_bytes > scratch_stride) {
    const std::size_t stride = std::bit_ceil(std::max<std::size_t>(scratch_bytes, 4096));
    scratch_memory = PageMemory(stride * static_cast<std::size_t>(threads));
    scratch_stride = stride;
  }
}

}  // namespace augur
