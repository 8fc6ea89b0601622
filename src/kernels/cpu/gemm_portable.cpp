// The law of products (docs/law.md) in plain C++: slow, and what every other variant is compared with.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/gemm_task.h"

namespace augur {

namespace {

constexpr int kPanel = 16;

float upper(std::uint32_t pair) {
  return std::bit_cast<float>(pair & 0xffff0000u);
}
float lower(std::uint32_t pair) {
  return std::bit_cast<float>(pair << 16);
}

struct DotF32 {
  static float step(std::uint32_t x, std::uint32_t w, float acc) {
    return std::fma(std::bit_cast<float>(x), std::bit_cast<float>(w), acc);
  }
};

struct DotBf16 {
  static float step(std::uint32_t x, std::uint32_t w, float acc) {
    return std::fma(lower(x), lower(w), std::fma(upper(x), upper(w), acc));
  }
};

template <class Dot>
void gemm(const GemmTask& task) {
  for (std::int64_t p = 0; p < task.panels; ++p) {
    const char* w = task.w + p * task.steps * 64;
    for (std::int64_t r = 0; r < task.rows; ++r) {
      const char* x = task.x + r * task.x_stride;
      float acc[kPanel] = {};
      for (std::int64_t line = 0; line < task.steps; ++line) {
        std::uint32_t x_word;
        std::uint32_t w_words[kPanel];
        std::memcpy(&x_word, x + 4 * line, sizeof x_word);
        std::memcpy(w_words, w + 64 * line, sizeof w_words);
        for (int j = 0; j < kPanel; ++j) acc[j] = Dot::step(x_word, w_words[j], acc[j]);
      }
      float* y = task.y + r * task.y_stride + p * kPanel;
      for (int j = 0; j < kPanel; ++j) {
        const float sum = task.bias == nullptr ? acc[j] : acc[j] + task.bias[p * kPanel + j];
        y[j] = task.accumulate ? y[j] + sum : sum;
      }
    }
  }
}

}  // namespace

void gemm_f32_portable(const GemmTask& task) {
  gemm<DotF32>(task);
}
void gemm_bf16_portable(const GemmTask& task) {
  gemm<DotBf16>(task);
}

std::int64_t peak_portable(std::int64_t rounds, float* sink) {
  float acc[kPanel];
  for (int j = 0; j < kPanel; ++j) acc[j] = static_cast<float>(j);
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (float& sum : acc) sum = std::fma(1.5f, 0.5f, sum);
  }
  std::memcpy(sink, acc, sizeof acc);
  return rounds * kPanel * 2;
}

}  // namespace augur
