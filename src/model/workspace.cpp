#include "model/workspace.h"

namespace augur {

namespace {
constexpr std::int64_t kResultGrain = 16;

/// Floats of a row of pairs of 16 gate and 16 up values.
constexpr std::int64_t pair_width(std::int64_t intermediate) {
  return (intermediate + kResultGrain - 1) / kResultGrain * 2 * kResultGrain;
}

/// Of the feed-forwards that all rows go through.
std::int64_t intermediate_width(const ModelConfig& config) {
  return std::max(config.intermediate, config.experts().shared);
}
}  // namespace

Workspace::Workspace(const ModelConfig& config, int thread_count, std::int64_t attention_inputs)
    : threads(thread_count),
      own_rows(std::max<std::int64_t>(1, kOwnNormElements / config.hidden)),
      experts(config.experts()),
      branches(std::any_of(config.kinds.begin(), config.kinds.end(), has_branch)),
      residual(DType::F32, config.hidden, kResultGrain),
      branch(DType::F32, config.hidden, kResultGrain),
      normed(config.hidden),
      entrance(attention_inputs),
      qkv(DType::F32, std::int64_t{config.heads + 2 * config.kv_heads} * config.head_dim, kResultGrain),
      attended(std::int64_t{config.heads} * config.head_dim),
      mixed(std::int64_t{config.heads} * config.head_dim),
      gate_up(DType::F32, pair_width(intermediate_width(config)), kResultGrain),
      activated(intermediate_width(config)),
      routed(config.hidden),
      router_scores(DType::F32, experts.count, kResultGrain),
      expert_inputs(config.hidden),
      expert_gate_up(DType::F32, pair_width(experts.width), kResultGrain),
      expert_activated(experts.width),
      expert_results(DType::F32, config.hidden, kResultGrain),
      result(DType::F32, config.hidden, 1) {}

void Workspace::ensure_prepared(PreparedRows& prepared, DType type, std::int64_t rows) {
  if (own_norms(rows)) {
    prepared.own.ensure(type, threads * own_rows);
  } else {
    prepared.shared.ensure(type, rows);
  }
}

void Workspace::ensure_forward(std::int64_t rows, std::span<const DType> types, std::size_t scratch_bytes) {
  residual.ensure(rows);
  if (branches) branch.ensure(rows);
  qkv.ensure(rows);
  gate_up.ensure(rows);
  if (residual.stride() != result.stride()) result.ensure(rows);
  for (const DType type : types) {
    ensure_prepared(normed, type, rows);
    if (entrance.stride() > 0) entrance.ensure(type, rows);
    if (type == DType::I16) continue;  // queries, keys and values only
    if (type == DType::Q8_0) ensure_prepared(mixed, type, rows);
    attended.ensure(type == DType::BF16 ? DType::BF16 : DType::F32, rows);
    activated.ensure(type, rows);
  }
  if (experts.count > 0) {
    const std::int64_t places = rows * experts.active;
    expert_rows.reserve(experts, rows);
    routed.ensure(DType::F32, rows);
    router_scores.ensure(rows);
    expert_gate_up.ensure(places);
    expert_results.ensure(places + (experts.shared > 0 ? rows : 0));
    for (const DType type : types) {
      if (type == DType::I16) continue;
      expert_inputs.ensure(type, places);
      expert_activated.ensure(type, places);
    }
  }
  if (scratch_bytes > scratch_stride) {
    const std::size_t stride = std::bit_ceil(std::max<std::size_t>(scratch_bytes, 4096));
    scratch_memory = PageMemory(stride * static_cast<std::size_t>(threads));
    scratch_stride = stride;
  }
}

}  // namespace augur
