#pragma once
#include <cstdint>

#include "kernels/kv_page.h"

// Included by files that are compiled for newer instruction sets: see gemm_task.h for what that forbids.

namespace augur {

/// One work item of an AttentionCall: a group of neighbouring rows and the query heads that share a kv head.
/// A "query" is one head of one row, query i being head i % heads of row i / heads. A "unit" is the 4 bytes
/// that one lane of a product takes: two neighbours in BF16, one element in F32.
struct AttentionItem {
  const char* const* pages;  ///< of kKvPageSlots slots each
  std::int64_t k;            ///< bytes from a page to the kv head's keys, [panel][units][16] units
  std::int64_t v;            ///< bytes from a page to its values, [unit of slots][head_dim] units
  /// Of 8-bit caches, whose keys and values lie in panels of 16 slots (kv_quant.h): bytes of a panel, and
  /// from there to its scales. 0: another cache.
  std::int64_t quant_panel;
  std::int64_t quant_scales;
  int head_dim;
  const float* q;  ///< first row, first head; heads lie head_dim apart
  std::int64_t q_stride;
  int rows;
  int heads;
  float log2_scale;                  ///< of scores, with the cap of capped ones: scale * log2(e)
  std::int64_t window;               ///< 0: none
  float cap;                         ///< 0: none
  float cap_scale;                   ///< scale / cap
  const float* sinks;                ///< [heads]; null: none
  float sink_scale;                  ///< makes scores of them
  const std::int64_t* contiguous;    ///< [rows] absolute
  const std::int32_t* gather;        ///< absolute, indexed by gather_begin
  const std::int32_t* gather_begin;  ///< [rows + 1] or null
  std::int64_t skipped;              ///< slots before the first of `pages`, which no row sees
  std::int64_t slots;                ///< one more than the highest slot that any of the rows sees, from there
  bool out_bf16;
  char* out;                ///< first row, first head; heads lie head_dim apart
  std::int64_t out_stride;  ///< elements
  char* scratch;            ///< 64-byte aligned, attention_scratch_bytes()
};

using AttentionItemFn = void (*)(const AttentionItem&);

void attend_f32_portable(const AttentionItem& item);
void attend_bf16_portable(const AttentionItem& item);
void attend_f32_avx2(const AttentionItem& item);
void attend_bf16_avx2(const AttentionItem& item);
void attend_f32_avx512(const AttentionItem& item);
void attend_bf16_avx512(const AttentionItem& item);
void attend_bf16_avx512bf16(const AttentionItem& item);

/// Queries that share one pass over keys and values: rows are grouped so that rows * heads stays within it.
constexpr int kAttentionQueries = 24;

constexpr std::int64_t attention_round_up(std::int64_t n, std::int64_t grain) {
  return (n + grain - 1) / grain * grain;
}

/// The item's scratch, [queries] rows of each of the three, in this order.
struct AttentionScratch {
  std::int64_t query_units;   ///< a query in the cache's type
  std::int64_t score_stride;  ///< floats: scores by slot, then by logical position, then probabilities
  std::int64_t sum_stride;    ///< floats: weighted sums of values

  constexpr AttentionScratch(std::int64_t slots, int head_dim)
      : query_units(attention_round_up(head_dim, 16)),
        // Room for 32 lanes from any position on and for one number more; an odd multiple of 64 bytes, which
        // spreads the rows over the cache's sets.
        score_stride(attention_round_up(slots, 32) + 48),
        sum_stride(attention_round_up(head_dim, 16)) {}
  constexpr std::int64_t bytes(std::int64_t queries) const {
    return 4 * queries * (query_units + score_stride + sum_stride);
  }
  /// Behind these, for 8-bit caches: some panels of keys, a page of values and the pages that rows differ in,
  /// in bf16.
  static constexpr std::int64_t kKeyPanels = 4;
  static constexpr std::int64_t expanded_bytes(std::int64_t slots, int head_dim) {
    const std::int64_t pages = (slots + kKvPageSlots - 1) / kKvPageSlots + 1;
    return 2 * head_dim * (16 * kKeyPanels + pages * kKvPageSlots);
  }
};

}  // namespace augur
