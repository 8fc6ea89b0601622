#pragma once
// Attention over caches of every type.
#include "law_vectors.h"
#include "unit/kernels/attention_fixture.h"

namespace augur::law {

inline constexpr int kHeadDim = 32;

/// 200 tokens, two heads that read one: queries, keys, values in this order.
inline TestTokens tokens_of(Inputs& in, int lowest_key = -6, int lowest_value = -6) {
  TestTokens tokens(200, 2, 1, kHeadDim, 1);
  for (float& v : tokens.q) v = in.value();
  for (float& v : tokens.k) v = in.value(lowest_key);
  for (float& v : tokens.v) v = in.value(lowest_value);
  return tokens;
}

struct AttentionCase {
  TestTokens tokens;
  TestRows rows;
  TestScores scores = {};
  InputForm out = InputForm::F32;

  Words run(const Machine& machine, DType type) const {
    TestCache cache(type, 1, kHeadDim, 256);
    for (int t = 0; t < 200; ++t) tokens.store(cache.view, t, t);
    Words words;
    words.add(attend(machine.attention, tokens, cache.view, rows, out, 1, scores));
    return words;
  }
};

inline TestRows plain_row(int token) {
  TestRows rows;
  rows.add(token, token + 1, {});
  return rows;
}

inline std::vector<Case> attention_cases() {
  std::vector<Case> cases;
  for (const DType type : {DType::BF16, DType::F32, DType::Q8_0}) {
    const auto add = [&](std::string_view what, auto make) {
      cases.push_back(
          {fmt::format("attention over {}: {}", name(type), what),
           [type, make](const Machine& machine, Inputs in) { return make(in).run(machine, type); }});
    };
    for (const int token : {0, 1, 16, 130}) {
      add(fmt::format("{} positions", token + 1), [token](Inputs in) {
        return AttentionCase{tokens_of(in), plain_row(token)};
      });
    }
    add("a tree's rows", [](Inputs in) {
      AttentionCase one{tokens_of(in), {}};
      one.rows.add(75, 71, {73, 75});
      one.rows.add(76, 70, {72, 74, 76});
      return one;
    });
    add("a window, rounded to bf16", [](Inputs in) {
      return AttentionCase{tokens_of(in), plain_row(99), {.window = 37}, InputForm::BF16};
    });
    add("a cap and sinks", [](Inputs in) {
      return AttentionCase{tokens_of(in), plain_row(60), {.cap = 0.75f, .sinks = {0.5f, -3.0f}}};
    });
    add("large scores", [](Inputs in) { return AttentionCase{tokens_of(in, 4), plain_row(80)}; });
    // Each product of a probability with a value is subnormal, their sum is not.
    add("subnormal products", [](Inputs in) {
      return AttentionCase{tokens_of(in, -6, -126), plain_row(150)};
    });
    add("tiny scores", [](Inputs in) { return AttentionCase{tokens_of(in, -125), plain_row(20)}; });
    add("equal scores", [](Inputs in) {
      AttentionCase one{tokens_of(in), plain_row(44)};
      std::fill(one.tokens.k.begin(), one.tokens.k.end(), -0.0f);
      return one;
    });
    if (type == DType::Q8_0) continue;  // blocks with numbers that are none are QuantBlock's
    add("infinite values", [](Inputs in) {
      AttentionCase one{tokens_of(in), plain_row(10)};
      one.tokens.v[2 * kHeadDim + 5] = float_of(kNoNumbers[0]);
      one.tokens.v[3 * kHeadDim + 6] = float_of(kNoNumbers[1]);
      one.tokens.v[4 * kHeadDim + 7] = float_of(kNoNumbers[2]);
      return one;
    });
  }
  return cases;
}

}  // namespace augur::law
