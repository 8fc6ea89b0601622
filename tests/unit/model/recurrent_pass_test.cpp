#include "model/recurrent_pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "base/thread_pool.h"
#include "model/kv_cache.h"

namespace augur {
namespace {

constexpr RecurrentSpec kDelta{.key_heads = 2, .value_heads = 4, .key_dim = 16, .value_dim = 128, .taps = 3};
constexpr RecurrentSpec kMamba{.rule = RecurrentRule::Mamba2,
                               .key_heads = 8,
                               .value_heads = 24,
                               .key_dim = 12,
                               .value_dim = 64,
                               .taps = 4,
                               .conv_bias = true,
                               .step_min = 0.3f,
                               .step_max = 1.2f};
constexpr float kEps = 1e-5f;

/// A layer of its own, whose inputs are random numbers.
class RecurrentPassTest : public testing::TestWithParam<RecurrentSpec> {
 protected:
  const RecurrentSpec spec_ = GetParam();
  const RecurrentMemory memory_{spec_};
  /// Of a state: heads, columns in tiles.
  const std::int64_t tiles_ = spec_.value_heads * (spec_.value_dim / memory_.tile());

  RecurrentPassTest() {
    config_.layers = 2;
    config_.hidden = 32;
    config_.intermediate = 32;
    config_.heads = 2;
    config_.kv_heads = 2;
    config_.head_dim = 16;
    config_.vocab = 100;
    config_.kinds = {LayerSpec(), LayerSpec{.recurrent = spec_}};
    config_.kind_of = {0, 1};
    std::mt19937 random(3);
    const auto fill = [&](std::vector<float>& to, std::int64_t n) {
      std::normal_distribution<float> normal;
      for (std::int64_t i = 0; i < n; ++i) to.push_back(normal(random));
    };
    fill(weights_.taps, spec_.taps * spec_.channels());
    fill(weights_.taps_bias, spec_.channels());
    for (int h = 0; h < spec_.value_heads; ++h)
      weights_.recurrent_decay.push_back(-0.3f - 0.05f * static_cast<float>(h));
    fill(weights_.recurrent_bias, spec_.value_heads);
    fill(weights_.recurrent_skip, spec_.value_heads);
    fill(weights_.recurrent_norm, spec_.norm_weights());
  }
  KvCache::Shape shape() const {
    return {.layers = 2,
            .kv_heads = 2,
            .head_dim = 16,
            .capacity = 512,
            .type = DType::F32,
            .state_floats = {0, static_cast<std::int32_t>(memory_.state_floats())},
            .record_floats = {0, static_cast<std::int32_t>(memory_.record_floats())}};
  }
  /// Of a pass over rows of some sequences, what was read and written.
  StateTraffic run(const std::vector<TokenBatch::Sequence>& sequences,
                   const std::vector<std::int32_t>& parents) {
    const std::vector<TokenId> tokens(parents.size(), 5);
    const std::vector<std::int32_t> positions(parents.size(), 300);
    BatchLayout layout;
    layout.build({.tokens = tokens, .positions = positions, .parents = parents, .sequences = sequences},
                 config_, DType::F32, 512);
    Workspace workspace(config_, pool_.size());
    const InputForm forms[] = {InputForm::F32};
    workspace.ensure_forward(std::ssize(parents), forms, RecurrentPass::scratch_bytes(spec_, layout.aside()));
    qkvz_.clear();
    gates_.clear();
    std::mt19937 random(4);
    std::normal_distribution<float> normal;
    for (std::size_t r = 0; r < parents.size(); ++r) {
      const auto row = static_cast<std::int64_t>(r);
      for (std::int64_t i = 0; i < spec_.channels() + spec_.values(); ++i)
        workspace.qkv.floats(row)[i] = normal(random);
      const float* const qkvz = workspace.qkv.floats(row);
      qkvz_.emplace_back(qkvz, qkvz + spec_.channels() + spec_.values());
      for (std::int64_t i = 0; i < workspace.recurrent_gates.stride(); ++i)
        workspace.recurrent_gates.floats(row)[i] = normal(random);
      const float* const gates = workspace.recurrent_gates.floats(row);
      gates_.emplace_back(gates, gates + spec_.value_heads);
    }
    const RecurrentPass pass({.spec = spec_,
                              .weights = weights_,
                              .layout = layout,
                              .workspace = workspace,
                              .layer = 1,
                              .norm_eps = kEps});
    pool_.run([&](Team& team) {
      pass.convolve(team);
      team.barrier();
      pass.recur(team, InputForm::F32);
      if (!pass.norms()) return;
      team.barrier();
      pass.norm(team, InputForm::F32);
    });
    results_.clear();
    for (std::int64_t r = 0; r < std::ssize(parents); ++r) {
      const auto* const row = static_cast<const float*>(workspace.attention_results.row(InputForm::F32, r));
      results_.emplace_back(row, row + spec_.values());
    }
    for (const TokenBatch::Sequence& sequence : sequences) sequence.kv->set_folded(0, 2);
    StateTraffic all;
    for (const StateTraffic& of_thread : workspace.state_traffic) {
      all.read += of_thread.read;
      all.written += of_thread.written;
    }
    return all;
  }

  ModelConfig config_;
  LayerWeights weights_;
  ThreadPool pool_{3};
  std::vector<std::vector<float>> qkvz_, gates_;  ///< [rows] of the last pass: what went in,
  std::vector<std::vector<float>> results_;       ///< and what came out
};

INSTANTIATE_TEST_SUITE_P(Rules, RecurrentPassTest, testing::Values(kDelta, kMamba), [](const auto& rule) {
  return std::string(rule.param.mamba() ? "Mamba2" : "GatedDelta");
});

TEST_P(RecurrentPassTest, AStateIsReadAndWrittenOnceARoundWhateverTheTree) {
  const KvCache::Pools pools = KvCache::make_pools(shape());
  KvCache first(shape(), pools);
  KvCache second(shape(), pools);
  for (KvCache* cache : {&first, &second}) {
    KvTxn txn = cache->reserve(9, 9);
    const StateTraffic prompt = run({{.kv = &txn, .first_row = 0, .rows = 9}}, {-1, 0, 1, 2, 3, 4, 5, 6, 7});
    EXPECT_EQ(prompt.read, 0) << "it begins at zero";
    EXPECT_EQ(prompt.written, tiles_);
    txn.commit_all();
  }
  for (int round = 0; round < 3; ++round) {
    KvTxn bushy = first.reserve(7, 1);
    KvTxn chain = second.reserve(4, 1);
    const StateTraffic traffic =
        run({{.kv = &bushy, .first_row = 0, .rows = 7}, {.kv = &chain, .first_row = 7, .rows = 4}},
            {-1, 0, 0, 0, 1, 1, 2, -1, 7, 8, 9});
    EXPECT_EQ(traffic.read, 2 * tiles_);
    EXPECT_EQ(traffic.written, 2 * tiles_);
    bushy.commit(std::vector<std::int32_t>{0, 1, 5});
    chain.commit_prefix(2);
  }
}

TEST_P(RecurrentPassTest, NodesLeaveNothingOfAStatesSize) {
  // Qwen3.5-0.8B, 4B and 27B.
  for (const int heads : {16, 32, 48}) {
    const RecurrentMemory memory(
        {.key_heads = 16, .value_heads = heads, .key_dim = 128, .value_dim = 128, .taps = 4});
    EXPECT_LT(16 * memory.record_floats(), 16 * memory.state_floats() / 20) << "of a tree of 16";
  }
  KvCache cache(shape());
  {
    KvTxn txn = cache.reserve(5, 5);
    run({{.kv = &txn, .first_row = 0, .rows = 5}}, {-1, 0, 1, 2, 3});
    txn.commit_all();
  }
  const auto bytes = [&] {
    std::int64_t sum = 0;
    cache.for_pages([&](const std::byte*, std::int64_t page) { sum += page; });
    return sum;
  };
  const std::int64_t before = bytes();
  KvTxn txn = cache.reserve(24, 1);
  const std::int64_t record_page =
      KvCache::kRecordSlots * memory_.record_floats() * static_cast<std::int64_t>(sizeof(float));
  EXPECT_LE(bytes() - before, 4 * record_page);
}

/// In binary64, with eight groups whose heads are normed together.
TEST_P(RecurrentPassTest, MambaIsWhatTheFormulasSay) {
  if (!spec_.mamba()) GTEST_SKIP() << "parity tests have the delta rule";
  KvCache cache(shape());
  KvTxn txn = cache.reserve(6, 4);
  run({{.kv = &txn, .first_row = 0, .rows = 6}}, {-1, 0, 1, 2, 3, 4});
  const auto silu = [](double x) { return x / (1 + std::exp(-x)); };
  const auto channels = static_cast<std::size_t>(spec_.channels());
  const auto keys = static_cast<std::size_t>(spec_.keys());
  const auto key_dim = static_cast<std::size_t>(spec_.key_dim);
  const auto value_dim = static_cast<std::size_t>(spec_.value_dim);
  const auto heads = static_cast<std::size_t>(spec_.value_heads);
  std::vector<double> state(heads * key_dim * value_dim);
  for (std::size_t t = 0; t < results_.size(); ++t) {
    std::vector<double> x(channels);
    for (std::size_t c = 0; c < channels; ++c) {
      double sum = weights_.taps_bias[c];
      for (std::size_t tap = 0; tap < 4; ++tap) {
        if (t + tap >= 3)
          sum += static_cast<double>(weights_.taps[tap * channels + c]) * qkvz_[t + tap - 3][c];
      }
      x[c] = silu(sum);
    }
    std::vector<double> y(heads * value_dim);
    for (std::size_t h = 0; h < heads; ++h) {
      const double raw = static_cast<double>(gates_[t][h]) + weights_.recurrent_bias[h];
      const double step = std::clamp(std::log1p(std::exp(raw)), 0.3, 1.2);
      const double alpha = std::exp(weights_.recurrent_decay[h] * step);
      const std::size_t group = h / 3 * key_dim;
      for (std::size_t j = 0; j < value_dim; ++j) {
        const double v = x[2 * keys + h * value_dim + j];
        double o = weights_.recurrent_skip[h] * v;
        for (std::size_t i = 0; i < key_dim; ++i) {
          double& s = state[(h * key_dim + i) * value_dim + j];
          s = alpha * s + x[keys + group + i] * step * v;
          o += s * x[group + i];
        }
        y[h * value_dim + j] = o * silu(qkvz_[t][channels + h * value_dim + j]);
      }
    }
    for (std::size_t g = 0; g < 8; ++g) {
      const std::size_t width = 3 * value_dim;
      double squares = 0;
      for (std::size_t i = g * width; i < (g + 1) * width; ++i) squares += y[i] * y[i];
      const double scale = 1 / std::sqrt(squares / static_cast<double>(width) + kEps);
      for (std::size_t i = g * width; i < (g + 1) * width; ++i)
        ASSERT_NEAR(results_[t][i], y[i] * scale * weights_.recurrent_norm[i], 2e-5) << t << ' ' << i;
    }
  }
}

/// Three tokens that a pass has folded, and three of which a tree has left records, are the same to the next.
TEST_P(RecurrentPassTest, ARecordStandsForItsToken) {
  KvCache folded(shape());
  {
    KvTxn txn = folded.reserve(3, 3);
    run({{.kv = &txn, .first_row = 0, .rows = 3}}, {-1, 0, 1});
    txn.commit_all();
  }
  KvCache recorded(shape());
  {
    KvTxn txn = recorded.reserve(8, 1);
    run({{.kv = &txn, .first_row = 0, .rows = 8}}, {-1, 0, 1, 2, 2, 2, 4, 5});
    txn.commit_prefix(3);
  }
  const auto next = [&](KvCache& cache) {
    KvTxn txn = cache.reserve(1, 1);
    run({{.kv = &txn, .first_row = 0, .rows = 1}}, {-1});
    return results_;
  };
  const auto after_nothing = [&] {
    KvCache empty(shape());
    return next(empty);
  }();
  const auto expected = next(folded);
  EXPECT_EQ(next(recorded), expected);
  EXPECT_NE(after_nothing, expected);
}

}  // namespace
}  // namespace augur
