// The door to devices: what passes it has the host's bits, and nothing behind it is followed by the host.
#include "model/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "kernels/attention.h"
#include "model/cpu_device.h"
#include "model/prefill.h"
#include "model_fixture.h"
#include "support/golden_models.h"
#include "support/slow_device.h"

namespace augur {
namespace {

using test::LogitRows;
using test::Rows;
using test::tiny_config;
using testing_support::golden_model_context;
using testing_support::golden_model_names;
using testing_support::golden_model_path;
using testing_support::SlowDevice;

/// Whether the host can read a byte there: asked of the system, which does not end the program.
bool host_can_read(const std::byte* address) {
  int ends[2];
  if (pipe(ends) != 0) throw Error("no pipe: {}", std::strerror(errno));
  const bool can = write(ends[1], address, 1) == 1;
  EXPECT_TRUE(can || errno == EFAULT);
  close(ends[0]);
  close(ends[1]);
  return can;
}

class DeviceTest : public testing::Test {
 protected:
  Backend backend_{2};
  SlowDevice slow_{backend_};
};

TEST_F(DeviceTest, WhatIsTakenIsNotTheHostsToRead) {
  PackedMatrix matrix(DType::BF16, 20, 32);
  std::vector<float> values(20 * 32);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 100);
  matrix.set_rows(0, values);
  EXPECT_TRUE(host_can_read(matrix.panel(0)));
  slow_.take(matrix);
  EXPECT_FALSE(host_can_read(matrix.panel(0)));
  std::vector<float> row(32);
  slow_.read_row(matrix, 17, row.data());
  EXPECT_TRUE(std::equal(row.begin(), row.end(), values.begin() + 17 * 32));

  PackedMatrix part(DType::BF16, 3, 32);
  slow_.take(part);
  const std::vector<std::int32_t> rows = {17, 4};
  slow_.copy_rows(part, 1, matrix, rows);
  slow_.read_row(part, 2, row.data());
  EXPECT_TRUE(std::equal(row.begin(), row.end(), values.begin() + 4 * 32));
}

TEST_F(DeviceTest, PagesAreCopiedMovedClearedAndReadBackThere) {
  const KvCache::Shape shape{.layers = 2, .kv_heads = 1, .head_dim = 32, .capacity = 200, .type = DType::F32};
  const KvCache::Pools far = KvCache::make_pools(shape, slow_.memory());
  const KvCache::Pools near = KvCache::make_pools(shape);
  const auto fill = [&](KvCache& cache, const auto& view_of) {
    KvTxn txn = cache.reserve(70);
    for (int layer = 0; layer < shape.layers; ++layer) {
      const KvLayerView view = view_of(layer);
      for (int slot = 0; slot < 70; ++slot) {
        std::vector<float> key(32, static_cast<float>(slot + 100 * layer));
        kv_store(view, 0, slot, key.data(), key.data());
      }
    }
    const std::vector<std::int32_t> path = {0, 1, 5, 40, 66, 69};
    txn.commit(path);
    cache.memory().clear_slots(cache, {6, 128});
  };
  KvCache expected(shape, near);
  fill(expected, [&](int layer) { return expected.layer(layer); });
  KvCache cache(shape, far);
  std::vector<std::byte*> table;
  fill(cache, [&](int layer) { return slow_.far_memory().follow(cache.layer(layer), table); });

  const auto bytes_of = [](const KvCache& of) {
    std::vector<std::byte> all;
    of.for_pages([&](const std::byte* page, std::int64_t bytes) {
      std::vector<std::byte> held;
      const auto read = of.memory().read(page, static_cast<std::size_t>(bytes), held);
      all.insert(all.end(), read.begin(), read.end());
    });
    return all;
  };
  EXPECT_EQ(bytes_of(cache), bytes_of(expected));
  cache.for_pages([&](const std::byte* page, std::int64_t) { EXPECT_FALSE(host_can_read(page)); });

  // Whoever writes to a shared page writes to a copy.
  const std::vector<std::byte> before = bytes_of(cache);
  KvCache other = cache;
  KvTxn txn = other.reserve(1);
  const std::vector<float> ones(32, 1.0f);
  kv_store(slow_.far_memory().follow(other.layer(0), table), 0, 6, ones.data(), ones.data());
  txn.commit_all();
  EXPECT_EQ(bytes_of(cache), before);
  EXPECT_NE(bytes_of(other), before);
}

TEST_F(DeviceTest, TheHostComputesWholeStacksOnly) {
  CpuDevice cpu(backend_);
  const ModelConfig config = tiny_config("qwen3");
  const auto layers = std::make_shared<const std::vector<LayerWeights>>();
  for (const StackShare& share :
       {StackShare{.layers = {0, 1}}, StackShare{.experts = {0, 2}}, StackShare{.rank = 1, .ranks = 2}}) {
    EXPECT_THROW(
        cpu.make_stack(
            {.config = config, .kv_type = DType::BF16, .context = 8, .layers = layers, .share = share}),
        Error);
  }
}

class DeviceModels : public testing::TestWithParam<std::string> {};

/// Of a text, and of a tree behind it.
TEST_P(DeviceModels, GiveTheHostsBits) {
  Backend backend(2);
  SlowDevice slow(backend);
  const Checkpoint checkpoint = Checkpoint::open(golden_model_path(GetParam()));
  for (const WeightFormat weights : {WeightFormat::BF16, WeightFormat::F32, WeightFormat::Native}) {
    std::vector<std::vector<float>> found;
    for (Device* device : {static_cast<Device*>(nullptr), static_cast<Device*>(&slow)}) {
      const auto model =
          Model::load(backend, checkpoint,
                      {.weights = weights, .context = golden_model_context(GetParam()), .device = device});
      KvCache cache = model->make_cache();
      std::vector<TokenId> text;
      for (int i = 0; i < 20; ++i) text.push_back((i * 29 + 3) % 40);
      prefill(*model, text, cache, {.chunk = 9});
      Rows rows;
      for (const std::int32_t parent : {-1, 0, 0, 2, 1}) {
        rows.add(7 + parent * 3, 20 + (parent < 0 ? 0 : parent == 0 ? 1 : 2), parent);
      }
      KvTxn txn = cache.reserve(5);
      const TokenBatch::Sequence sequence{.kv = &txn, .first_row = 0, .rows = 5};
      const auto hidden = static_cast<std::size_t>(model->config().hidden);
      std::vector<float> all(5 * hidden);
      const Tap taps[] = {{.layer = 1, .out = all.data(), .out_stride = static_cast<std::int64_t>(hidden)}};
      model->forward(rows.batch({&sequence, 1}), {.taps = taps});
      all.insert(all.end(), model->result().begin(), model->result().end());
      const std::vector<std::int32_t> wanted = {4, 0, 3};
      const LogitRows logits(*model, 3);
      model->logits(wanted, logits.data(), logits.stride());
      for (int r = 0; r < 3; ++r) {
        const std::vector<float> row = logits.row(r);
        all.insert(all.end(), row.begin(), row.end());
      }
      found.push_back(std::move(all));
    }
    ASSERT_EQ(found[0].size(), found[1].size());
    EXPECT_EQ(std::memcmp(found[0].data(), found[1].data(), found[0].size() * sizeof(float)), 0)
        << static_cast<int>(weights);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, DeviceModels, testing::ValuesIn(golden_model_names()),
                         [](const auto& v) { return v.param; });

}  // namespace
}  // namespace augur
