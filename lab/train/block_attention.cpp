#include "lab/train/block_attention.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "lab/train/torch_ops.h"

namespace augur {

BlockSight::BlockSight(const Lesson& lesson, const std::vector<std::int64_t>& anchors, std::int64_t slots,
                       torch::Device device)
    : slots_(slots) {
  struct Text {
    std::int64_t begin, length;  // up to its last anchor
    std::int64_t first_block, blocks;
  };
  std::vector<Text> texts;
  std::vector<std::int64_t> positions;
  std::size_t next = 0;
  for (const Lesson::Sequence& s : lesson.sequences) {
    const std::size_t first = next;
    for (; next < anchors.size() && anchors[next] < s.begin + s.length; ++next) {
      for (std::int64_t slot = 0; slot < slots; ++slot) positions.push_back(anchors[next] - s.begin + slot);
    }
    if (next > first)
      texts.push_back({s.begin, anchors[next - 1] - s.begin, static_cast<std::int64_t>(first),
                       static_cast<std::int64_t>(next - first)});
  }
  positions_ = index_tensor(positions, device);

  constexpr double kShortest = 0.8;  // of a bucket's longest
  constexpr std::int64_t kSequences = 64;
  std::stable_sort(texts.begin(), texts.end(),
                   [](const Text& a, const Text& b) { return a.length > b.length; });
  std::vector<std::int64_t> places(positions.size());
  std::int64_t place = 0;
  for (std::size_t begin = 0, end = 0; begin < texts.size(); begin = end) {
    const std::int64_t length = texts[begin].length;
    std::int64_t blocks = 0;
    for (end = begin; end < texts.size() && static_cast<std::int64_t>(end - begin) < kSequences &&
                      static_cast<double>(texts[end].length) >= kShortest * static_cast<double>(length);
         ++end)
      blocks = std::max(blocks, texts[end].blocks);
    std::vector<std::int64_t> text_rows, slot_rows, seen;
    for (std::size_t i = begin; i < end; ++i) {
      const Text& text = texts[i];
      for (std::int64_t r = 0; r < length; ++r)
        text_rows.push_back(text.begin + std::min(r, text.length - 1));
      for (std::int64_t b = 0; b < blocks; ++b) {
        const std::int64_t block = text.first_block + std::min(b, text.blocks - 1);
        for (std::int64_t slot = 0; slot < slots; ++slot, ++place) {
          slot_rows.push_back(block * slots + slot);
          seen.push_back(anchors[static_cast<std::size_t>(block)] - text.begin);
          if (b < text.blocks) places[static_cast<std::size_t>(slot_rows.back())] = place;
        }
      }
    }
    const auto sequences = static_cast<std::int64_t>(end - begin);
    const torch::Tensor columns = torch::arange(length, device);
    const torch::Tensor hidden = columns >= index_tensor(seen, device).view({sequences, -1, 1});
    buckets_.push_back({.text = index_tensor(text_rows, device).view({sequences, -1}),
                        .slots = index_tensor(slot_rows, device).view({sequences, -1}),
                        .mask = torch::zeros_like(hidden, torch::kFloat32)
                                    .masked_fill(hidden, -std::numeric_limits<float>::infinity())});
  }
  places_ = index_tensor(places, device);
}

namespace {

/// Rows of groups [groups, rows, heads, d] by kv head: [groups * kv heads, heads / kv heads * rows, d].
torch::Tensor by_head(const torch::Tensor& x, std::int64_t kv_heads) {
  const std::int64_t groups = x.size(0), rows = x.size(1), width = x.size(3);
  return x.view({groups, rows, kv_heads, -1, width})
      .permute({0, 2, 3, 1, 4})
      .reshape({groups * kv_heads, -1, width});
}

/// And back. [groups * rows, heads, d]
torch::Tensor by_row(const torch::Tensor& x, std::int64_t groups, std::int64_t kv_heads, std::int64_t rows) {
  return x.view({groups, kv_heads, -1, rows, x.size(2)})
      .permute({0, 3, 1, 2, 4})
      .reshape({groups * rows, -1, x.size(2)});
}

/// Mixed values and the log-sum-exp of the scores that they are mixed by, [rows, heads, d] and [rows, heads,
/// 1].
struct Mixed {
  torch::Tensor values, norm;
};

/// q [groups, rows, heads, d]; k and v [groups, columns, kv heads, d]; `mask` [groups, rows, columns] or
/// undefined.
Mixed mix(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, const torch::Tensor& mask,
          double scale) {
  const std::int64_t groups = q.size(0), rows = q.size(1), kv_heads = k.size(2), columns = k.size(1);
  const torch::Tensor products = product(by_head(q, kv_heads), by_head(k, kv_heads).transpose(1, 2));
  torch::Tensor scores = products.to(torch::kFloat32) * scale;
  if (mask.defined()) {
    const torch::Tensor placed = scores.view({groups, -1, rows, columns}) + mask.unsqueeze(1);
    scores = placed.view(scores.sizes());
  }
  const torch::Tensor norm = scores.logsumexp(-1, true);
  const torch::Tensor p = (scores - norm).exp().to(product_type());
  return {by_row(product(p, by_head(v, kv_heads)), groups, kv_heads, rows),
          by_row(norm, groups, kv_heads, rows)};
}

}  // namespace

torch::Tensor block_attention(const torch::Tensor& q, const torch::Tensor& text_k,
                              const torch::Tensor& text_v, const torch::Tensor& own_k,
                              const torch::Tensor& own_v, const BlockSight& sight, double scale) {
  const auto blocks = [&](const torch::Tensor& x) {
    return x.view({-1, sight.slots(), x.size(1), x.size(2)});
  };
  const auto picked = [](const torch::Tensor& x, const torch::Tensor& rows) {
    return x.index_select(0, rows.flatten()).view({rows.size(0), rows.size(1), x.size(1), x.size(2)});
  };
  const Mixed own = mix(blocks(q), blocks(own_k), blocks(own_v), {}, scale);
  std::vector<torch::Tensor> values, norms;
  for (const BlockSight::Bucket& bucket : sight.buckets()) {
    const Mixed text = mix(picked(q, bucket.slots), picked(text_k, bucket.text), picked(text_v, bucket.text),
                           bucket.mask, scale);
    values.push_back(text.values);
    norms.push_back(text.norm);
  }
  const torch::Tensor text = torch::cat(values).index_select(0, sight.places());
  const torch::Tensor text_norm = torch::cat(norms).index_select(0, sight.places());
  const torch::Tensor norm = torch::logaddexp(text_norm, own.norm);
  return (text * (text_norm - norm).exp() + own.values * (own.norm - norm).exp()).to(product_type());
}

}  // namespace augur
