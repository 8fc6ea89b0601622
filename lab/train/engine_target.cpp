#include "lab/train/engine_target.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <utility>

#include "kernels/backend.h"
#include "model/cpu_device.h"
#include "model/layer_stack.h"

namespace augur {

namespace {

/// Rows of one pass: enough to read the weights seldom, few enough for the activations to stay in a cache.
constexpr std::int64_t kRows = 256;

ModelWeights pack(const Checkpoint& checkpoint, const ModelConfig& config) {
  ThreadPool pool(at::get_num_threads());
  StoredWeights source = stored_model(checkpoint.weights(), config);
  return pack_weights(pool, config, {.floats = DType::BF16, .native = false}, source, {});
}

}  // namespace

/// What one caller at a time works with.
struct EngineTarget::Session {
  Session(const EngineTarget& target, int threads)
      : backend(threads),
        device(backend),
        stack(device, target.config_, DType::BF16, target.config_.max_context, target.layers_) {}

  Backend backend;
  CpuDevice device;
  LayerStack stack;
  std::deque<KvCache> caches;                    ///< of a pass's sequences
  std::vector<std::int32_t> positions, parents;  ///< of a pass's rows
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
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(session));
}

namespace {

/// Rows of one sequence in a pass.
struct Piece {
  std::size_t sequence;
  std::int64_t first;  ///< position of its first row
  std::int64_t rows;
  bool ends;  ///< with the sequence
};

/// Cuts sequences, one after another, into passes that are full but for the last.
std::vector<std::vector<Piece>> passes_of(TorchLlama::Sequences sequences) {
  std::vector<std::vector<Piece>> passes;
  std::int64_t room = 0;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const std::int64_t length = std::ssize(sequences[i]);
    for (std::int64_t first = 0; first < length;) {
      if (room == 0) {
        passes.emplace_back();
        room = kRows;
      }
      const std::int64_t rows = std::min(room, length - first);
      passes.back().push_back({i, first, rows, first + rows == length});
      room -= rows;
      first += rows;
    }
  }
  return passes;
}

}  // namespace

TorchLlama::Output EngineTarget::forward(TorchLlama::Sequences sequences, std::span<const int> taps) {
  std::vector<TokenId> tokens;
  for (const std::span<const TokenId> one : sequences) tokens.insert(tokens.end(), one.begin(), one.end());
  const std::int64_t hidden = config_.hidden;
  const auto rows_of_floats = [&] { return torch::empty({std::ssize(tokens), hidden}, torch::kFloat32); };
  TorchLlama::Output out;
  out.last = rows_of_floats();
  std::vector<std::pair<int, float*>> wanted = {{config_.layers, out.last.data_ptr<float>()}};
  for (const int layer : taps) {
    out.taps.push_back(layer == config_.layers ? out.last : rows_of_floats());
    if (layer != config_.layers) wanted.emplace_back(layer, out.taps.back().data_ptr<float>());
  }

  std::unique_ptr<Session> session = take(at::get_num_threads());
  std::vector<Tap> into(wanted.size());
  std::int64_t done = 0;  // rows
  for (const std::vector<Piece>& pass : passes_of(sequences)) {
    while (session->caches.size() < pass.size()) session->caches.push_back(session->stack.make_cache());
    session->positions.clear();
    session->parents.clear();
    std::vector<KvTxn> txns;
    txns.reserve(pass.size());
    std::vector<TokenBatch::Sequence> parts;
    for (const Piece& piece : pass) {
      const auto row = static_cast<int>(session->positions.size());
      txns.push_back(session->caches[txns.size()].reserve(piece.rows));
      parts.push_back({.kv = &txns.back(), .first_row = row, .rows = static_cast<int>(piece.rows)});
      for (std::int32_t r = 0; r < piece.rows; ++r) {
        session->positions.push_back(static_cast<std::int32_t>(piece.first) + r);
        session->parents.push_back(r == 0 ? -1 : row + r - 1);
      }
    }
    const std::size_t rows = session->positions.size();
    for (std::size_t i = 0; i < wanted.size(); ++i)
      into[i] = {.layer = wanted[i].first, .out = wanted[i].second + done * hidden, .out_stride = hidden};
    session->stack.forward({.tokens = std::span(tokens).subspan(static_cast<std::size_t>(done), rows),
                            .positions = session->positions,
                            .parents = session->parents,
                            .sequences = parts},
                           {.taps = into}, &embedding_);
    for (KvTxn& txn : txns) txn.commit_all();
    done += static_cast<std::int64_t>(rows);
    // The one that does not end here is the next pass's first.
    if (!pass.back().ends) std::swap(session->caches.front(), session->caches[pass.size() - 1]);
    for (std::size_t i = pass.back().ends ? 0 : 1; i < pass.size(); ++i) session->caches[i].truncate(0);
  }
  give_back(std::move(session));
  return out;
}

}  // namespace augur
