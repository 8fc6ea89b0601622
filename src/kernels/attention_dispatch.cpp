#include "kernels/attention_dispatch.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>

#include "kernels/cpu/attention_item.h"
#include "kernels/cpu/subnormals.h"
#include "kernels/kv_quant.h"

namespace augur {

namespace {

constexpr std::int64_t kPanel = 16;

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
  assert(slots >= 1 && slots <= call.kv.head_stride / call.kv.head_dim);
  return slots;
}

AttentionItem make_item(const AttentionCall& call, std::int64_t index, int groups, std::byte* scratch) {
  const int heads = call.heads / call.kv.kv_heads;
  const std::int64_t kv_head = index / groups;
  const Range rows = split_range(call.rows, fold_order(index % groups, groups), groups);
  const std::int64_t head_bytes =
      call.kv.head_stride / call.kv.head_dim * kv_slot_bytes(call.kv.type, call.kv.head_dim);
  const std::int64_t column = kv_head * heads * call.kv.head_dim;
  const bool out_bf16 = call.out_type == DType::BF16;
  return {
      .k = reinterpret_cast<const char*>(call.kv.k) + kv_head * head_bytes,
      .v = reinterpret_cast<const char*>(call.kv.v) + kv_head * head_bytes,
      .head_dim = call.kv.head_dim,
      .q = call.q + rows.begin * call.q_stride + column,
      .q_stride = call.q_stride,
      .rows = static_cast<int>(rows.size()),
      .heads = heads,
      .log2_scale = call.scale * 1.44269504088896f,
      .contiguous = call.contiguous + rows.begin,
      .gather = call.gather,
      .gather_begin = call.gather_begin == nullptr ? nullptr : call.gather_begin + rows.begin,
      .slots = slots_seen(call, rows),
      .out_bf16 = out_bf16,
      .out = static_cast<char*>(call.out) + (rows.begin * call.out_stride + column) * (out_bf16 ? 2 : 4),
      .out_stride = call.out_stride,
      .scratch = reinterpret_cast<char*>(scratch),
  };
}

/// What a BF16 cache of these slots would be, for one kv head at a time, at the beginning of the scratch.
class ExpandedHead {
 public:
  ExpandedHead(const AttentionCall& call, std::byte* scratch)
      : slots_(attention_round_up(slots_seen(call, {0, call.rows}), kPanel)),
        head_dim_(call.kv.head_dim),
        k_(reinterpret_cast<std::uint16_t*>(scratch)),
        v_(k_ + slots_ * head_dim_) {}

  static std::int64_t bytes(std::int64_t slots, std::int64_t head_dim) {
    return 4 * attention_round_up(slots, kPanel) * head_dim;
  }
  /// Where the items' own scratch begins.
  std::byte* rest() const { return reinterpret_cast<std::byte*>(v_ + slots_ * head_dim_); }

  /// Neighbouring items mostly have the head in common.
  void put(AttentionItem& item) {
    if (item.k != source_) {
      source_ = item.k;
      const std::int64_t panel_bytes = kv_quant_panel_bytes(head_dim_);
      for (std::int64_t p = 0; p < slots_ / kPanel; ++p) {
        const std::int64_t to = p * kPanel * head_dim_;
        kv_expand_keys(reinterpret_cast<const std::byte*>(item.k) + p * panel_bytes, item.head_dim, k_ + to);
        kv_expand_values(reinterpret_cast<const std::byte*>(item.v) + p * panel_bytes, item.head_dim,
                         v_ + to);
      }
    }
    item.k = reinterpret_cast<const char*>(k_);
    item.v = reinterpret_cast<const char*>(v_);
  }

 private:
  std::int64_t slots_;
  std::int64_t head_dim_;
  std::uint16_t* k_;
  std::uint16_t* v_;
  const char* source_ = nullptr;
};

template <AttentionItemFn kF32, AttentionItemFn kBf16>
void attend(const AttentionCall& call, Range items, std::byte* scratch) {
  assert(call.heads % call.kv.kv_heads == 0 && call.kv.head_dim % 2 == 0 && call.scale > 0.0f);
  assert(call.kv.type == DType::BF16 || call.kv.type == DType::F32 || call.kv.type == DType::Q8_0);
  const FlushSubnormals flush;
  const int groups = row_groups(call);
  std::optional<ExpandedHead> expanded;
  if (call.kv.type == DType::Q8_0 && items.size() > 0) scratch = expanded.emplace(call, scratch).rest();
  for (std::int64_t i = items.begin; i < items.end; ++i) {
    AttentionItem item = make_item(call, i, groups, scratch);
    if (expanded) expanded->put(item);
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
  const std::int64_t expanded = kv_type == DType::Q8_0 ? ExpandedHead::bytes(slots, head_dim) : 0;
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
