#include "model/workspace.h"

#include "kernels/gemm.h"

namespace augur {

namespace {
constexpr std::int64_t kResultGrain = 16;

/// Rows that products read.
RowBuffer input_rows(DType type, std::int64_t width) {
  return {type, width > 0 ? activation_stride(width) : 0, 1};
}
}  // namespace

Workspace::Workspace(const ModelConfig& config, DType weight_type, int thread_count,
                     std::int64_t attention_inputs)
    : type(weight_type),
      threads(thread_count),
      own_rows(std::max<std::int64_t>(1, kOwnNormElements / config.hidden)),
      residual(DType::F32, config.hidden, kResultGrain),
      normed(input_rows(weight_type, config.hidden)),
      own_normed(input_rows(weight_type, config.hidden)),
      entrance(input_rows(weight_type, attention_inputs)),
      qkv(DType::F32, std::int64_t{config.heads + 2 * config.kv_heads} * config.head_dim, kResultGrain),
      attended(input_rows(weight_type, std::int64_t{config.heads} * config.head_dim)),
      gate_up(DType::F32, (config.intermediate + kResultGrain - 1) / kResultGrain * 2 * kResultGrain,
              kResultGrain),
      activated(input_rows(weight_type, config.intermediate)),
      result(DType::F32, config.hidden, 1) {
  own_normed.ensure(threads * own_rows);
}

void Workspace::ensure_normed(std::int64_t rows) {
  if (!own_norms(rows)) normed.ensure(rows);
}

void Workspace::ensure_forward(std::int64_t rows, std::size_t scratch_bytes) {
  residual.ensure(rows);
  ensure_normed(rows);
  if (entrance.stride() > 0) entrance.ensure(rows);
  qkv.ensure(rows);
  attended.ensure(rows);
  gate_up.ensure(rows);
  activated.ensure(rows);
  if (residual.stride() != result.stride()) result.ensure(rows);
  if (scratch_bytes > scratch_stride) {
    scratch_stride = std::bit_ceil(std::max<std::size_t>(scratch_bytes, 4096));
    scratch_memory = PageMemory(scratch_stride * static_cast<std::size_t>(threads));
  }
}

}  // namespace augur
