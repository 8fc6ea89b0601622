#include "model/workspace.h"

namespace augur {

namespace {
constexpr std::int64_t kResultGrain = 16;
}  // namespace

Workspace::Workspace(const ModelConfig& config, int thread_count, std::int64_t attention_inputs)
    : threads(thread_count),
      own_rows(std::max<std::int64_t>(1, kOwnNormElements / config.hidden)),
      branches(std::any_of(config.kinds.begin(), config.kinds.end(), has_branch)),
      residual(DType::F32, config.hidden, kResultGrain),
      branch(DType::F32, config.hidden, kResultGrain),
      normed(config.hidden),
      entrance(attention_inputs),
      qkv(DType::F32, std::int64_t{config.heads + 2 * config.kv_heads} * config.head_dim, kResultGrain),
      attended(std::int64_t{config.heads} * config.head_dim),
      mixed(std::int64_t{config.heads} * config.head_dim),
      gate_up(DType::F32, (config.intermediate + kResultGrain - 1) / kResultGrain * 2 * kResultGrain,
              kResultGrain),
      activated(config.intermediate),
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
  if (scratch_bytes > scratch_stride) {
    const std::size_t stride = std::bit_ceil(std::max<std::size_t>(scratch_bytes, 4096));
    scratch_memory = PageMemory(stride * static_cast<std::size_t>(threads));
    scratch_stride = stride;
  }
}

}  // namespace augur
