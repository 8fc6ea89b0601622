#include "lab/train/engine_target.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "kernels/backend.h"
#include "model/layer_stack.h"

namespace augur {

namespace {

/// Rows of one pass: enough to read the weights seldom, few enough for the activations to stay in a cache.
constexpr std::int64_t kRows = 256;

ModelWeights pack(const Checkpoint& checkpoint, const ModelConfig& config) {
  ThreadPool pool(at::get_num_threads());
  StoredWeights source(checkpoint.weights(), config.tied_embeddings);
  return pack_weights(pool, config, {.floats = DType::BF16, .native = false}, source, {});
}

}  // namespace

/// What one caller at a time works with.
struct EngineTarget::Session {
  Session(const EngineTarget& target, int threads)
      : backend(threads),
        stack(backend, target.config_, DType::BF16, target.config_.max_context, target.layers_),
        cache(stack.make_cache()) {}

  Backend backend;
  LayerStack stack;
  KvCache cache;
  std::vector<std::int32_t> positions, parents;  ///< of a pass
};

EngineTarget::EngineTarget(const Checkpoint& checkpoint)
    : checkpoint_(checkpoint),
      config_(ModelConfig::from_json(checkpoint.config(), checkpoint.path().string())) {
  ModelWeights weights = pack(checkpoint_, config_);
  embedding_ = std::move(weights.embedding);
  layers_ = std::make_shared<const std::vector<LayerWeights>>(std::move(weights.layers));
}

EngineTarget::~EngineTarget() = default;

std::unique_ptr<EngineTarget::Session> EngineTarget::take(int threads) {
  {
    const std::lock_guard lock(mutex_);
    const auto fits = std::find_if(idle_.begin(), idle_.end(), [&](const auto& session) {
      return session->backend.pool.size() == threads;
    });
    if (fits != idle_.end()) {
      std::unique_ptr<Session> session = std::move(*fits);
      idle_.erase(fits);
      return session;
    }
  }
  return std::make_unique<Session>(*this, threads);
}

void EngineTarget::give_back(std::unique_ptr<Session> session) {
  session->cache.truncate(0);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(session));
}

TorchLlama::Output EngineTarget::forward(std::span<const TokenId> tokens, std::span<const int> taps) {
  const auto length = static_cast<std::int64_t>(tokens.size());
  const std::int64_t hidden = config_.hidden;
  const auto rows_of_floats = [&] { return torch::empty({length, hidden}, torch::kFloat32); };
  TorchLlama::Output out;
  out.last = rows_of_floats();
  std::vector<std::pair<int, float*>> wanted = {{config_.layers, out.last.data_ptr<float>()}};
  for (const int layer : taps) {
    out.taps.push_back(layer == config_.layers ? out.last : rows_of_floats());
    if (layer != config_.layers) wanted.emplace_back(layer, out.taps.back().data_ptr<float>());
  }

  std::unique_ptr<Session> session = take(at::get_num_threads());
  std::vector<Tap> into(wanted.size());
  for (std::int64_t first = 0; first < length; first += kRows) {
    const std::int64_t rows = std::min(kRows, length - first);
    session->positions.resize(static_cast<std::size_t>(rows));
    session->parents.resize(static_cast<std::size_t>(rows));
    std::iota(session->positions.begin(), session->positions.end(), static_cast<std::int32_t>(first));
    std::iota(session->parents.begin(), session->parents.end(), -1);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      into[i] = {.layer = wanted[i].first, .out = wanted[i].second + first * hidden, .out_stride = hidden};
    KvTxn txn = session->cache.reserve(rows);
    const TokenBatch::Sequence sequence{.kv = &txn, .first_row = 0, .rows = static_cast<int>(rows)};
    session->stack.forward(
        {.tokens = tokens.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows)),
         .positions = session->positions,
         .parents = session->parents,
         .sequences = {&sequence, 1}},
        {.taps = into}, &embedding_);
    txn.commit_all();
  }
  give_back(std::move(session));
  return out;
}

}  // namespace augur
