#include "model/recurrent_pass.h"

#include <gtest/gtest.h>

#include <random>

#include "base/thread_pool.h"
#include "model/kv_cache.h"

namespace augur {
namespace {

/// A layer of its own, whose inputs are random numbers.
class RecurrentPassTest : public testing::Test {
 protected:
  static constexpr RecurrentSpec kSpec{
      .key_heads = 2, .value_heads = 4, .key_dim = 16, .value_dim = 128, .taps = 3};
  static constexpr std::int64_t kTiles = 4 * 2;  // of a state: heads, columns in tiles of 64
  const RecurrentMemory memory_{kSpec};

  RecurrentPassTest() {
    config_.layers = 2;
    config_.hidden = 32;
    config_.intermediate = 32;
    config_.heads = 2;
    config_.kv_heads = 2;
    config_.head_dim = 16;
    config_.vocab = 100;
    config_.kinds = {LayerSpec(), LayerSpec{.recurrent = kSpec}};
    config_.kind_of = {0, 1};
    std::mt19937 random(3);
    const auto fill = [&](std::vector<float>& to, std::int64_t n) {
      std::normal_distribution<float> normal;
      for (std::int64_t i = 0; i < n; ++i) to.push_back(normal(random));
    };
    fill(weights_.taps, kSpec.taps * kSpec.channels());
    weights_.recurrent_decay.assign(4, -0.3f);
    fill(weights_.recurrent_bias, 4);
    fill(weights_.recurrent_norm, kSpec.value_dim);
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
    workspace.ensure_forward(std::ssize(parents), forms, RecurrentPass::scratch_bytes(kSpec, layout.aside()));
    std::mt19937 random(4);
    std::normal_distribution<float> normal;
    for (std::size_t r = 0; r < parents.size(); ++r) {
      const auto row = static_cast<std::int64_t>(r);
      for (std::int64_t i = 0; i < kSpec.channels() + kSpec.values(); ++i)
        workspace.qkv.floats(row)[i] = normal(random);
      for (std::int64_t i = 0; i < workspace.recurrent_gates.stride(); ++i)
        workspace.recurrent_gates.floats(row)[i] = normal(random);
    }
    const RecurrentPass pass({.spec = kSpec,
                              .weights = weights_,
                              .layout = layout,
                              .workspace = workspace,
                              .layer = 1,
                              .norm_eps = 1e-6f});
    pool_.run([&](Team& team) {
      pass.convolve(team);
      team.barrier();
      pass.recur(team, InputForm::F32);
    });
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
};

TEST_F(RecurrentPassTest, AStateIsReadAndWrittenOnceARoundWhateverTheTree) {
  const KvCache::Pools pools = KvCache::make_pools(shape());
  KvCache first(shape(), pools);
  KvCache second(shape(), pools);
  for (KvCache* cache : {&first, &second}) {
    KvTxn txn = cache->reserve(9, 9);
    const StateTraffic prompt = run({{.kv = &txn, .first_row = 0, .rows = 9}}, {-1, 0, 1, 2, 3, 4, 5, 6, 7});
    EXPECT_EQ(prompt.read, 0) << "it begins at zero";
    EXPECT_EQ(prompt.written, kTiles);
    txn.commit_all();
  }
  for (int round = 0; round < 3; ++round) {
    KvTxn bushy = first.reserve(7, 1);
    KvTxn chain = second.reserve(4, 1);
    const StateTraffic traffic =
        run({{.kv = &bushy, .first_row = 0, .rows = 7}, {.kv = &chain, .first_row = 7, .rows = 4}},
            {-1, 0, 0, 0, 1, 1, 2, -1, 7, 8, 9});
    EXPECT_EQ(traffic.read, 2 * kTiles);
    EXPECT_EQ(traffic.written, 2 * kTiles);
    bushy.commit(std::vector<std::int32_t>{0, 1, 5});
    chain.commit_prefix(2);
  }
}

TEST_F(RecurrentPassTest, NodesLeaveNothingOfAStatesSize) {
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

}  // namespace
}  // namespace augur
