#pragma once
#include <cstdint>

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernels/input_form.h"
#include "kernels/kv_page.h"

namespace augur {

/// Keys and values of one layer of one sequence, by slot. Slots [0, length) hold the committed prefix in
/// logical order; the rows of the forward in flight follow. They lie in pages, anywhere in memory: slot s in
/// page s / kKvPageSlots. Within a page both are packed as the products want them: K like a weight panel (16
/// slots are the panel's 16 columns), so that scores are a small GEMM; V with the slots 2j and 2j+1 side by
/// side in BF16, so that it is read in pairs of logical positions.
///   BF16: K [kv_head][slot/16][head_dim/2][16][2],  V [kv_head][slot/2][head_dim][2]
///   F32:  K [kv_head][slot/16][head_dim][16],       V [kv_head][slot][head_dim]
///   Q8_0: panels of 16 slots in 8 bits, see kv_quant.h; to the products they are what BF16 would hold after
///         rounding every scale * q to it
///
/// A page of 64 slots, in BF16:
///
///   +-- layer 0 ---------------------------+-- layer 1 --------+- ...
///   | K: head 0 | head 1 | V: head 0 | ... | K: head 0 | ...   |
///   +----|------------------------|--------+-------------------+
///        |                        |
///        v  slots 0 .. 15         v
///   d 0,1 [s0 d0 d1][s1 d0 d1]..  s 0,1 [d0 s0 s1][d1 s0 s1] ..   <- a line of K: 16 slots, 2 dimensions
///   d 2,3 [s0 d2 d3][s1 d2 d3]..  s 2,3 [d0 s2 s3][d1 s2 s3] ..      a row of V: 2 slots, all dimensions
///    ...  then slots 16 .. 31      ...
struct KvLayerView {
  DType type = DType::BF16;           ///< BF16, F32, or Q8_0 with head_dim a multiple of 32
  std::byte* const* pages = nullptr;  ///< 64-byte aligned
  std::int64_t page_count = 0;
  std::int64_t k = 0;  ///< where the layer's keys lie within a page, in bytes, a multiple of 64
  std::int64_t v = 0;
  int kv_heads = 0;
  int head_dim = 0;  ///< multiple of 2
};

/// Bytes of one slot's keys (and as many of its values) of one head.
std::int64_t kv_slot_bytes(DType type, std::int64_t head_dim);

/// Writes key and value (float32 [head_dim]) of one kv head into a slot, rounding to the view's type. Slots
/// of one panel of 16 share cache lines: let threads share the work by heads rather than by neighbouring
/// slots.
void kv_store(const KvLayerView& kv, int kv_head, std::int64_t slot, const float* key, const float* value);
/// Copies one slot of every kv head to another slot (exact).
void kv_move(const KvLayerView& kv, std::int64_t from, std::int64_t to);

/// Bytes between the kv heads of a page: of its keys, or its values, of one head.
inline std::int64_t kv_head_bytes(const KvLayerView& kv) {
  return kKvPageSlots * kv_slot_bytes(kv.type, kv.head_dim);
}

/// The view whose slot 0 is this one's slot `slot`, a multiple of kKvPageSlots.
KvLayerView from_slot(const KvLayerView& kv, std::int64_t slot);

/// Attention of `rows` query rows of one sequence over logical positions.
/// Row r sees slots 0 .. contiguous[r]-1, then the slots gather[gather_begin[r] .. gather_begin[r+1]) in that
/// order, which is ascending and begins at contiguous[r] or later; it sees one at least. A plain causal row
/// has no gathers, and the last slot it sees is its own; a tree row gathers those ancestors that do not lie
/// contiguously after the prefix, and itself; a row of a block (BlockMask) sees rows after it, too.
///
/// Law: docs/law.md#attention. Nothing depends on the slots' places or on other rows, so a tree row's bits
/// equal those of the same tokens run one after the other. All variants give the same bits.
struct AttentionCall {
  KvLayerView kv;
  const float* q = nullptr;  ///< [rows, q_stride], head h at column h * head_dim; rotary applied
  std::int64_t q_stride = 0;
  int rows = 0;
  int heads = 0;            ///< multiple of kv.kv_heads; query head h reads kv head h / (heads / kv_heads)
  float scale = 1.0f;       ///< positive
  std::int64_t window = 0;  ///< > 0: a row sees only the last so many of its logical positions
  float cap = 0.0f;         ///< > 0: soft limit of the scaled scores
  const float* sinks = nullptr;  ///< [heads]: a score that takes its share of the sum and adds nothing
  const std::int64_t* contiguous = nullptr;    ///< [rows]
  const std::int32_t* gather = nullptr;        ///< absolute slots
  const std::int32_t* gather_begin = nullptr;  ///< [rows + 1]; null when no row gathers
  InputForm out_form = InputForm::BF16;        ///< or F32: as the next product reads it
  void* out = nullptr;                         ///< [rows, out_stride] of out_form
  std::int64_t out_stride = 0;
};

/// Work items of a call, for partition over threads: an item is a group of rows of one kv head. Contiguous
/// ranges of items of equal length are about equal work.
std::int64_t attention_items(const AttentionCall& call);
/// Scratch bytes one thread needs for any item of a call whose rows see slots below `max_slots` only.
std::size_t attention_scratch_bytes(std::int64_t max_slots, int heads_per_kv_head, int head_dim,
                                    DType kv_type);
/// Computes items [items.begin, items.end). Any thread, disjoint items, own scratch (64-byte aligned).
using AttentionFn = void (*)(const AttentionCall& call, Range items, std::byte* scratch);

}  // namespace augur
