#include "kernels/attention_dispatch.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/cpu/attention_item.h"
#include "kernels/cpu/subnormals.h"
#include "kernels/kv_quant.h"

namespace augur {

namespace {

/// Groups that the rows are cut into: as few as kAttentionQueries allows, but not so few that two threads
/// could not share the items evenly.
int row_groups(const AttentionCall& call) {
  const int heads = call.heads / call.kv.kv_heads;
  const int most_rows = std::max(1, kAttentionQueries / heads);
  int groups = (call.rows + most_rows - 1) / most_rows;
  while (groups < call.rows && (call.kv.kv_heads * groups < 4 || call.kv.kv_heads * groups % 2 != 0))
    ++groups;
  return groups;
}

/// Takes turns from both ends: in a causal call later rows are more work, and so any two neighbours are about
/// as much as any other two.
int fold_order(std::int64_t index, int groups) {
  const auto i = static_cast<int>(index);
  return i % 2 == 0 ? i / 2 : groups - 1 - i / 2;
}

std::int64_t slots_seen(const AttentionCall& call, Range rows) {
  std::int64_t slots = 0;
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    slots = std::max(slots, call.contiguous[r]);
    if (call.gather_begin != nullptr && call.gather_begin[r + 1] > call.gather_begin[r]) {
      const std::int32_t* gather = call.gather;
      assert(gather[call.gather_begin[r]] >= call.contiguous[r]);
      assert(std::is_sorted(gather + call.gather_begin[r], gather + call.gather_begin[r + 1]));
      slots = std::max<std::int64_t>(slots, gather[call.gather_begin[r + 1] - 1] + 1);
    }
  }
  assert(slots >= 1 && slots <= call.kv.page_count * kKvPageSlots);
  return slots;
}

/// Slots in whole pages that lie before the window of every one of the rows.
std::int64_t slots_skipped(const AttentionCall& call, Range rows) {
  if (call.window == 0) return 0;
  std::int64_t first = call.contiguous[rows.begin];
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const std::int64_t gathers =
        call.gather_begin == nullptr ? 0 : call.gather_begin[r + 1] - call.gather_begin[r];
    const std::int64_t begin = call.contiguous[r] + gathers - call.window;
    first = std::min({first, call.contiguous[r], std::max<std::int64_t>(begin, 0)});
  }
  return first / kKvPageSlots * kKvPageSlots;
}

AttentionItem make_item(const AttentionCall& call, std::int64_t index, int groups, std::byte* scratch) {
  const int heads = call.heads / call.kv.kv_heads;
  const std::int64_t kv_head = index / groups;
  const Range rows = split_range(call.rows, fold_order(index % groups, groups), groups);
  const std::int64_t head_bytes = kv_head_bytes(call.kv);
  const std::int64_t column = kv_head * heads * call.kv.head_dim;
  const bool out_bf16 = call.out_form == InputForm::BF16;
  const std::int64_t skipped = slots_skipped(call, rows);
  const bool quantised = call.kv.type == DType::Q8_0;
  return {
      .pages = reinterpret_cast<const char* const*>(call.kv.pages + skipped / kKvPageSlots),
      .k = call.kv.k + kv_head * head_bytes,
      .v = call.kv.v + kv_head * head_bytes,
      .quant_panel = quantised ? kv_quant_panel_bytes(call.kv.head_dim) : 0,
      .quant_scales = quantised ? kv_quant_scales_at(call.kv.head_dim) : 0,
      .head_dim = call.kv.head_dim,
      .q = call.q + rows.begin * call.q_stride + column,
      .q_stride = call.q_stride,
      .rows = static_cast<int>(rows.size()),
      .heads = heads,
      .log2_scale = (call.cap > 0 ? 1.0f : call.scale) * 1.44269504088896f,
      .window = call.window,
      .cap = call.cap,
      .cap_scale = call.cap > 0 ? call.scale / call.cap : 0.0f,
      .sinks = call.sinks == nullptr ? nullptr : call.sinks + kv_head * heads,
      .sink_scale = call.cap > 0 ? 1.0f : 1.0f / call.scale,
      .contiguous = call.contiguous + rows.begin,
      .gather = call.gather,
      .gather_begin = call.gather_begin == nullptr ? nullptr : call.gather_begin + rows.begin,
      .skipped = skipped,
      .slots = slots_seen(call, rows) - skipped,
      .out_bf16 = out_bf16,
      .out = static_cast<char*>(call.out) + (rows.begin * call.out_stride + column) * (out_bf16 ? 2 : 4),
      .out_stride = call.out_stride,
      .scratch = reinterpret_cast<char*>(scratch),
  };
}

template <AttentionItemFn kF32, AttentionItemFn kBf16>
void attend(const AttentionCall& call, Range items, std::byte* scratch) {
  assert(call.heads % call.kv.kv_heads == 0 && call.kv.head_dim % 2 == 0 && call.scale > 0.0f);
  assert(call.kv.type == DType::BF16 || call.kv.type == DType::F32 || call.kv.type == DType::Q8_0);
  const FlushSubnormals flush;
  const int groups = row_groups(call);
  for (std::int64_t i = items.begin; i < items.end; ++i) {
    const AttentionItem item = make_item(call, i, groups, scratch);
    call.kv.type == DType::F32 ? kF32(item) : kBf16(item);
  }
}

}  // namespace

std::int64_t attention_items(const AttentionCall& call) {
  return std::int64_t{call.kv.kv_heads} * row_groups(call);
}

std::size_t attention_scratch_bytes(std::int64_t max_slots, int heads_per_kv_head, int head_dim,
                                    DType kv_type) {
  const std::int64_t slots = std::max<std::int64_t>(max_slots, 1);
  const AttentionScratch size(slots, head_dim);
  const std::int64_t expanded =
      kv_type == DType::Q8_0 ? AttentionScratch::expanded_bytes(slots, head_dim) : 0;
  return static_cast<std::size_t>(size.bytes(std::max(kAttentionQueries, heads_per_kv_head)) + expanded);
}

AttentionFn attention_kernel(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::Avx2:
      return attend<attend_f32_avx2, attend_bf16_avx2>;
    case Isa::Avx512:
      return attend<attend_f32_avx512, attend_bf16_avx512>;
    // A head is too small a product to pay for setting up tiles.
    case Isa::Avx512Bf16:
    case Isa::Amx:
      return attend<attend_f32_avx512, attend_bf16_avx512bf16>;
#endif
    default:
      return attend<attend_f32_portable, attend_bf16_portable>;
  }
}

}  // namespace augur
