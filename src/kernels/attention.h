#pragma once
#include <cstdint>

#include "base/dtype.h"
#include "base/thread_pool.h"

namespace augur {

/// Keys and values of one layer of one sequence, by slot. Slots [0, length) hold the committed prefix in
/// logical order; the rows of the forward in flight follow. K is packed like a weight panel (16 slots are the
/// panel's 16 columns), so that scores are a small GEMM; V is row-major.
///   BF16: K [kv_head][slot/16][head_dim/2][16][2],  V [kv_head][slot][head_dim]
///   F32:  K [kv_head][slot/16][head_dim][16],       V [kv_head][slot][head_dim]
struct KvLayerView {
  DType type = DType::BF16;      ///< BF16 or F32
  std::byte* k = nullptr;
  std::byte* v = nullptr;
  std::int64_t head_stride = 0;  ///< elements between kv heads, the same for K and V: capacity * head_dim
  int kv_heads = 0;
  int head_dim = 0;              ///< multiple of 2
};

/// Writes key and value (float32 [head_dim]) of one kv head into a slot, rounding to the view's type.
void kv_store(const KvLayerView& kv, int kv_head, std::int64_t slot, const float* key, const float* value);
/// Copies one slot of every kv head to another slot (exact).
void kv_move(const KvLayerView& kv, std::int64_t from, std::int64_t to);

/// Attention of `rows` query rows of one sequence over logical positions.
/// Row r sees slots 0 .. contiguous[r]-1, then the slots gather[gather_begin[r] .. gather_begin[r+1]) in that
/// order; the last slot it sees is its own. A plain causal row has no gathers; a tree row gathers those
/// ancestors that do not lie contiguously after the prefix, and itself.
///
/// Law: let s_0..s_{L-1} be the row's slots in logical order. score_j = scale * <q, K[s_j]> by one fixed
/// order over head_dim; p = softmax(score) with max, exp and sum in an order that depends on j and L only;
/// out = sum_j p_j V[s_j] by one chain in logical order. So a tree row's bits equal those of the
/// same tokens run one after the other, wherever the slots lie and whatever the other rows are.
struct AttentionCall {
  KvLayerView kv;
  const float* q = nullptr;  ///< [rows, q_stride], head h at column h * head_dim; rotary applied
  std::int64_t q_stride = 0;
  int rows = 0;
  int heads = 0;             ///< multiple of kv.kv_heads; query head h reads kv head h / (heads / kv_heads)
  float scale = 1.0f;
  const std::int64_t* contiguous = nullptr;      ///< [rows]
  const std::int32_t* gather = nullptr;          ///< absolute slots
  const std::int32_t* gather_begin = nullptr;    ///< [rows + 1]
  DType out_type = DType::BF16;
  void* out = nullptr;       ///< [rows, out_stride] of out_type
  std::int64_t out_stride = 0;
};

/// Work items of a call, for partition over threads: item i covers a group of rows of one kv head.
std::int64_t attention_items(const AttentionCall& call);
/// Scratch bytes one thread needs for any item of a call whose longest row sees `max_length` slots.
std::size_t attention_scratch_bytes(std::int64_t max_length, int heads_per_kv_head, int head_dim);
/// Computes items [items.begin, items.end). Any thread, disjoint items, own scratch (64-byte aligned).
using AttentionFn = void (*)(const AttentionCall& call, Range items, std::byte* scratch);

}  // namespace augur
