#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "base/buffer.h"
#include "base/cpu.h"
#include "base/dtype.h"
#include "kernels/attention.h"
#include "kernels/attention_dispatch.h"

namespace augur {

/// What the tests of attention are run with: a variant of the kernels and the type of the cache.
using AttentionVariant = std::tuple<Isa, DType>;
inline std::string variant_name(const testing::TestParamInfo<AttentionVariant>& test) {
  return std::string(name(std::get<0>(test.param))) + "_" + std::string(name(std::get<1>(test.param)));
}

/// One layer's cache and its memory. Unwritten slots hold NaN, so that reading one shows.
struct TestCache {
  Buffer<std::byte> memory;
  std::vector<std::byte*> pages;
  KvLayerView view;

  TestCache(DType type, int kv_heads, int head_dim, std::int64_t capacity) {
    const std::int64_t count = (capacity + kKvPageSlots - 1) / kKvPageSlots;
    const std::int64_t part = kKvPageSlots * kv_heads * kv_slot_bytes(type, head_dim);
    // A line before the keys, and the pages in falling order: nothing may lean on where they lie.
    const std::int64_t bytes = 2 * part + 64;
    memory = Buffer<std::byte>(static_cast<std::size_t>(count * bytes));
    std::memset(memory.data(), 0xff, memory.size());
    for (std::int64_t i = count - 1; i >= 0; --i) pages.push_back(memory.data() + i * bytes);
    view = {.type = type,
            .pages = pages.data(),
            .page_count = count,
            .k = 64,
            .v = 64 + part,
            .kv_heads = kv_heads,
            .head_dim = head_dim};
  }
};

/// Keys, values and queries of a sequence of tokens, by token: the same whichever slot a token lies in.
struct TestTokens {
  int heads, kv_heads, head_dim;
  std::vector<float> q, k, v;

  TestTokens(int count, int heads_, int kv_heads_, int head_dim_, std::uint32_t seed)
      : heads(heads_), kv_heads(kv_heads_), head_dim(head_dim_) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    const auto fill = [&](std::vector<float>& x, int per_token, float scale) {
      x.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(per_token));
      for (float& value : x) value = scale * normal(random);
    };
    fill(q, heads * head_dim, 1.5f);
    fill(k, kv_heads * head_dim, 1.5f);
    fill(v, kv_heads * head_dim, 1.0f);
  }
  const float* query(int token) const { return &q[static_cast<std::size_t>(token * heads * head_dim)]; }
  const float* key(int token, int head) const {
    return &k[static_cast<std::size_t>((token * kv_heads + head) * head_dim)];
  }
  const float* value(int token, int head) const {
    return &v[static_cast<std::size_t>((token * kv_heads + head) * head_dim)];
  }
  void store(const KvLayerView& cache, int token, std::int64_t slot) const {
    for (int h = 0; h < kv_heads; ++h) kv_store(cache, h, slot, key(token, h), value(token, h));
  }
};

/// Rows of one call: which tokens ask, and what they see.
struct TestRows {
  std::vector<int> tokens;
  std::vector<std::int64_t> contiguous;
  std::vector<std::int32_t> gather;
  std::vector<std::int32_t> gather_begin = {0};

  void add(int token, std::int64_t prefix, const std::vector<std::int32_t>& gathers) {
    tokens.push_back(token);
    contiguous.push_back(prefix);
    gather.insert(gather.end(), gathers.begin(), gathers.end());
    gather_begin.push_back(static_cast<std::int32_t>(gather.size()));
  }
};

/// A random tree over `prefix` committed tokens: node i is token prefix + i in slot prefix + i.
struct Tree {
  std::vector<int> parent;  // -1: the prefix

  Tree(int nodes, std::mt19937& random) {
    for (int i = 0; i < nodes; ++i) {
      // Chains and bushes alike.
      const bool chain = random() % 3 != 0;
      parent.push_back(i == 0 || random() % 8 == 0 ? -1
                       : chain                     ? i - 1
                                                   : static_cast<int>(random() % static_cast<unsigned>(i)));
    }
  }
  std::vector<int> path(int node) const {
    std::vector<int> result;
    for (int i = node; i >= 0; i = parent[static_cast<std::size_t>(i)]) result.push_back(i);
    std::reverse(result.begin(), result.end());
    return result;
  }
};

/// As the model describes a tree row: ancestors that follow the prefix without a gap count as contiguous.
inline void add_tree_row(TestRows& rows, const Tree& tree, int node, int prefix) {
  const std::vector<int> path = tree.path(node);
  std::size_t straight = 0;
  while (straight < path.size() && path[straight] == static_cast<int>(straight)) ++straight;
  std::vector<std::int32_t> gathers;
  for (std::size_t i = straight; i < path.size(); ++i) gathers.push_back(prefix + path[i]);
  rows.add(prefix + node, prefix + static_cast<int>(straight), gathers);
}

/// What a layer does with its scores (AttentionCall).
struct TestScores {
  std::int64_t window = 0;
  float cap = 0;
  std::vector<float> sinks = {};
};

/// Runs a call, its items cut into `parts` ranges, and returns float32 [rows, heads * head_dim].
inline std::vector<float> attend(AttentionFn attention, const TestTokens& tokens, const KvLayerView& cache,
                                 const TestRows& rows, InputForm out_form = InputForm::F32, int parts = 1,
                                 const TestScores& scores = {}) {
  const int width = tokens.heads * tokens.head_dim;
  const auto count = rows.tokens.size();
  const std::int64_t q_stride = width + 3;
  const std::int64_t out_stride = width + 5;
  std::vector<float> q(count * static_cast<std::size_t>(q_stride));
  for (std::size_t r = 0; r < count; ++r) {
    std::copy_n(tokens.query(rows.tokens[r]), width, q.begin() + static_cast<std::ptrdiff_t>(r) * q_stride);
  }
  std::vector<float> out(count * static_cast<std::size_t>(out_stride), -7.0f);
  AttentionCall call;
  call.kv = cache;
  call.q = q.data();
  call.q_stride = q_stride;
  call.rows = static_cast<int>(count);
  call.heads = tokens.heads;
  call.scale = 1.0f / std::sqrt(static_cast<float>(tokens.head_dim));
  call.window = scores.window;
  call.cap = scores.cap;
  call.sinks = scores.sinks.empty() ? nullptr : scores.sinks.data();
  call.contiguous = rows.contiguous.data();
  call.gather = rows.gather.data();
  call.gather_begin = rows.gather.empty() ? nullptr : rows.gather_begin.data();
  call.out_form = out_form;
  call.out = out.data();
  call.out_stride = out_stride;
  const Buffer<std::byte> scratch(attention_scratch_bytes(
      cache.page_count * kKvPageSlots, tokens.heads / tokens.kv_heads, tokens.head_dim, cache.type));
  const std::int64_t items = attention_items(call);
  for (int part = parts - 1; part >= 0; --part) {
    std::memset(scratch.data(), 0xff, scratch.size());
    attention(call, split_range(items, part, parts), scratch.data());
  }
  std::vector<float> result(count * static_cast<std::size_t>(width));
  for (std::size_t r = 0; r < count; ++r) {
    for (int c = 0; c < width; ++c) {
      const std::size_t at = r * static_cast<std::size_t>(out_stride) + static_cast<std::size_t>(c);
      result[r * static_cast<std::size_t>(width) + static_cast<std::size_t>(c)] =
          out_form == InputForm::BF16 ? to_float(reinterpret_cast<const BF16*>(out.data())[at]) : out[at];
    }
  }
  return result;
}

inline std::vector<float> attend(Isa isa, const TestTokens& tokens, const KvLayerView& cache,
                                 const TestRows& rows, InputForm out_form = InputForm::F32, int parts = 1,
                                 const TestScores& scores = {}) {
  return attend(attention_kernel(isa), tokens, cache, rows, out_form, parts, scores);
}

/// A sequence run token by token: row r of the result is token path[r] after path[0..r), from an empty cache.
inline std::vector<float> attend_in_order(Isa isa, const TestTokens& tokens, DType type,
                                          const std::vector<int>& path, int first_row,
                                          const TestScores& scores = {}) {
  const auto capacity = (static_cast<std::int64_t>(path.size()) + 15) / 16 * 16;
  TestCache cache(type, tokens.kv_heads, tokens.head_dim, capacity);
  std::vector<float> result;
  for (std::size_t i = 0; i < path.size(); ++i) {
    tokens.store(cache.view, path[i], static_cast<std::int64_t>(i));
    if (static_cast<int>(i) < first_row) continue;
    TestRows row;
    row.add(path[i], static_cast<std::int64_t>(i) + 1, {});
    const std::vector<float> out = attend(isa, tokens, cache.view, row, InputForm::F32, 1, scores);
    result.insert(result.end(), out.begin(), out.end());
  }
  return result;
}

}  // namespace augur
