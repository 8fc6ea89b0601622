#include "model/weight_packer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/shared_parts.h"
#include "base/system_memory.h"
#include "files/head_order.h"
#include "model/recurrent_pieces.h"

namespace augur {

namespace {

constexpr std::int64_t kPanel = PackedMatrix::kPanel;
/// Elements of one thread's piece of work.
constexpr std::int64_t kChunkElements = 1 << 17;

/// Where gate's rows and up's go in their common matrix.
constexpr RowMap kGatePanels{.offset = 0, .block = kPanel, .stride = 2 * kPanel};
constexpr RowMap kUpPanels{.offset = kPanel, .block = kPanel, .stride = 2 * kPanel};

std::int64_t round_to_panel(std::int64_t n) {
  return (n + kPanel - 1) / kPanel * kPanel;
}

}  // namespace

void WeightPacker::matrix(PackedMatrix& target, const std::string& name, std::int64_t n, std::int64_t k,
                          const RowMap& map) {
  RowReader read = source_.open(name, {n, k});
  jobs_.push_back({&target, std::move(read), stored(name), n, k, map, name});
}

std::optional<StoredRows> WeightPacker::stored(const std::string& name) const {
  if (!form_.native && !form_.quantize) return std::nullopt;
  std::optional<StoredRows> rows = source_.stored(name);
  return rows && (form_.native || rows->type == form_.quantize) ? std::move(rows) : std::nullopt;
}

void WeightPacker::allocate(PackedMatrix& target, DType type, std::int64_t n, std::int64_t k) {
  target = PackedMatrix(type, n, k, arena_);
  targets_.push_back(&target);
  reserved_bytes_ += target.bytes();
}

void WeightPacker::reserve(PackedMatrix& target, std::int64_t n, std::int64_t k) {
  std::optional<DType> type;
  for (const Job& job : jobs_) {
    if (job.target != &target) continue;
    const DType own = job.stored ? job.stored->type : form_.packed_type(k);
    type = type && *type != own ? form_.floats : own;
    if (*type == form_.floats) break;
  }
  allocate(target, type.value_or(form_.floats), n, k);
}

void WeightPacker::exact(PackedMatrix& target, const std::string& name, std::int64_t n, std::int64_t k) {
  RowReader read = source_.open(name, {n, k});
  allocate(target, DType::F32, n, k);
  jobs_.push_back({&target, std::move(read), std::nullopt, n, k, {}, name});
}

namespace {

// What reads a piece's rows, of what reads the stored ones.
RowReader rows_of(RowReader stored, const MatrixPiece& piece, std::int64_t k) {
  if (!piece.whole()) {
    stored = [stored = std::move(stored), from = piece.from, n = piece.n, k](std::int64_t first,
                                                                             std::int64_t count, float* out) {
      for (std::int64_t i = 0; i < count; ++i) stored(from.row(first + i, n), 1, out + i * k);
    };
  }
  return in_rotary_order(std::move(stored), piece.order, k);
}
StoredRows rows_of(StoredRows stored, const MatrixPiece& piece) {
  if (!piece.whole()) {
    stored.row = [row = std::move(stored.row), from = piece.from, n = piece.n](
                     std::int64_t i, std::vector<std::byte>& scratch) {
      return row(from.row(i, n), scratch);
    };
  }
  return in_rotary_order(std::move(stored), piece.order);
}

std::string text_of(const RowMap& map) {
  return fmt::format("{}/{}/{}", map.offset, map.block, map.stride);
}
std::string text_of(const MatrixPiece& piece) {
  return fmt::format("{} {} of {} {}/{}", piece.name, text_of(piece.from), piece.stored, piece.order.head_dim,
                     piece.order.dims);
}

}  // namespace

void WeightPacker::exact(PackedMatrix& target, std::span<const MatrixPiece> pieces, std::int64_t k) {
  std::int64_t rows = 0;
  for (const MatrixPiece& piece : pieces) {
    jobs_.push_back({&target, rows_of(open(piece, k), piece, k), std::nullopt, piece.n, k,
                     RowMap{.offset = rows}, text_of(piece)});
    rows += round_to_panel(piece.n);
  }
  allocate(target, DType::F32, rows, k);
}

/// A matrix of which several pieces take rows is opened once.
RowReader WeightPacker::open(const MatrixPiece& piece, std::int64_t k) {
  const auto [reader, fresh] = opened_.try_emplace(piece.name);
  if (fresh) reader->second = source_.open(piece.name, {piece.stored > 0 ? piece.stored : piece.n, k});
  return reader->second;
}

void WeightPacker::fused(FusedMatrix& target, std::span<const MatrixPiece> pieces, std::int64_t k) {
  std::vector<RowReader> readers;
  std::vector<DType> types;
  std::vector<std::optional<StoredRows>> kept;
  for (const MatrixPiece& piece : pieces) {
    readers.push_back(rows_of(open(piece, k), piece, k));
    auto rows = stored(piece.name);
    if (rows) rows = rows_of(*std::move(rows), piece);
    kept.push_back(rows);
    types.push_back(rows ? rows->type : form_.packed_type(k));
  }
  bool quantized = true;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const bool last = i + 1 == pieces.size();
    quantized = quantized && types[i] != form_.floats && (last || pieces[i].n % kPanel == 0);
  }
  if (!quantized) std::fill(types.begin(), types.end(), form_.floats);
  struct Run {  // of pieces that have one type
    DType type;
    std::int64_t n = 0;
  };
  std::vector<Run> runs;
  std::vector<std::size_t> run_of;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (runs.empty() || runs.back().type != types[i]) runs.push_back({types[i]});
    run_of.push_back(runs.size() - 1);
    runs.back().n += pieces[i].n;
  }
  target.matrices.resize(runs.size());
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0 && run_of[i] != run_of[i - 1]) offset = 0;
    jobs_.push_back({&target.matrices[run_of[i]], std::move(readers[i]), std::move(kept[i]), pieces[i].n, k,
                     RowMap{.offset = offset}, text_of(pieces[i])});
    offset += pieces[i].n;
  }
  for (std::size_t r = 0; r < runs.size(); ++r) allocate(target.matrices[r], runs[r].type, runs[r].n, k);
}

void WeightPacker::vector(std::vector<float>& target, const std::string& name, std::int64_t n) {
  target.resize(static_cast<std::size_t>(n));
  source_.open(name, {n})(0, 1, target.data());
}

void WeightPacker::taps(std::vector<float>& target, const std::string& name, std::int64_t channels,
                        std::int64_t taps, const std::vector<std::int64_t>& stored) {
  const RowReader read = source_.open(name, {channels, 1, taps});
  std::vector<float> by_channel(static_cast<std::size_t>(channels * taps));
  read(0, channels, by_channel.data());
  target.resize(by_channel.size());
  for (std::int64_t c = 0; c < channels; ++c) {
    const std::int64_t from = stored.empty() ? c : stored[static_cast<std::size_t>(c)];
    for (std::int64_t t = 0; t < taps; ++t)
      target[static_cast<std::size_t>(t * channels + c)] =
          by_channel[static_cast<std::size_t>(from * taps + t)];
  }
}

void WeightPacker::decay(std::vector<float>& target, const std::string& logarithm, const std::string& name,
                         std::int64_t n) {
  const bool made = source_.has(name);
  vector(target, made ? name : logarithm, n);
  for (float& value : target) {
    const float stored = value;
    if (!made) value = recurrent_decay(stored);
    if (value <= 0 && std::isfinite(value)) continue;
    throw Error("tensor {}: expected {}, found {}", made ? name : logarithm,
                made ? "numbers up to 0" : "numbers whose exponential is one", stored);
  }
}

void WeightPacker::norm(std::vector<float>& target, const std::string& name, std::int64_t n, float offset) {
  vector(target, name, n);
  for (float& weight : target) weight += offset;
}

void WeightPacker::bias(std::vector<float>& target, const std::string& name, std::int64_t n,
                        const RowMap& map, const RotaryOrder& order) {
  std::vector<float> values(static_cast<std::size_t>(n));
  source_.open(name, {n})(0, 1, values.data());
  for (std::int64_t i = 0; i < n; ++i) {
    target.at(static_cast<std::size_t>(map.row(i, n))) = values[static_cast<std::size_t>(order.stored(i))];
  }
}

void WeightPacker::pack_stored(const Job& job, std::int64_t first, std::int64_t count) {
  std::vector<std::byte> scratch;
  for (std::int64_t i = first; i < first + count; ++i) {
    job.target->set_stored_rows(job.row(i), job.stored->row(i, scratch));
  }
}

void WeightPacker::pack(const Job& job, std::int64_t first, std::int64_t count, std::vector<float>& scratch) {
  if (job.stored && job.target->type() == job.stored->type) return pack_stored(job, first, count);
  scratch.resize(std::max(scratch.size(), static_cast<std::size_t>(count * job.k)));
  job.read(first, count, scratch.data());
  const std::int64_t block = job.map.block_of(job.rows);
  for (std::int64_t i = first; i < first + count;) {  // runs of rows that stay together
    const std::int64_t run = std::min(block - i % block, first + count - i);
    job.target->set_rows(job.row(i),
                         {scratch.data() + (i - first) * job.k, static_cast<std::size_t>(run * job.k)});
    i += run;
  }
}

std::string WeightPacker::recipe() const {
  std::string text = source_.identity();
  if (text.empty()) return text;
  text.insert(0, "weights of ");
  std::map<const PackedMatrix*, std::size_t> numbers;
  for (const PackedMatrix* target : targets_) {
    text += fmt::format("\n{} {} {}", name(target->type()), target->n(), target->k());
    numbers.emplace(target, numbers.size());
  }
  for (const Job& job : jobs_) {
    text += fmt::format("\n{} {} {} {} {} {}", numbers.at(job.target), job.rows, job.k, text_of(job.map),
                        job.stored ? name(job.stored->type) : "", job.from);
  }
  return text;
}

void WeightPacker::run(ThreadPool& pool, const std::function<void(double)>& progress) {
  const SharedParts::Make pack_here = [&](const std::function<void(double)>& own_progress) {
    require_memory("the model's weights", reserved_bytes_);  // so far it is address space only
    pack_all(pool, own_progress);
    SharedParts::Parts packed;
    for (const PackedMatrix* target : targets_) packed.push_back(target->data());
    return packed;
  };
  const std::string key = recipe();
  if (key.empty()) {
    pack_here(progress);
    return;
  }
  const SharedParts::Parts packed = SharedParts::of_process().get(key, pack_here, progress);
  for (std::size_t i = 0; i < targets_.size(); ++i)
    *targets_[i] = targets_[i]->at(std::static_pointer_cast<std::byte>(packed[i]));
}

void WeightPacker::pack_all(ThreadPool& pool, const std::function<void(double)>& progress) const {
  struct Chunk {
    const Job* job;
    std::int64_t first;
    std::int64_t count;
  };
  std::vector<Chunk> chunks;
  for (const Job& job : jobs_) {
    // Whole panels, so that no two threads write the same cache line of an unpermuted matrix.
    const std::int64_t step = round_to_panel(std::max<std::int64_t>(1, kChunkElements / job.k));
    for (std::int64_t first = 0; first < job.rows; first += step) {
      chunks.push_back({&job, first, std::min(step, job.rows - first)});
    }
  }
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::exception_ptr failure;
  pool.run([&](Team& team) {
    std::vector<float> scratch;
    try {
      for (std::size_t i;
           !failed.load(std::memory_order_relaxed) && (i = next.fetch_add(1)) < chunks.size();) {
        pack(*chunks[i].job, chunks[i].first, chunks[i].count, scratch);
        if (team.rank() == 0 && progress && i + 1 < chunks.size()) {
          progress(static_cast<double>(i + 1) / static_cast<double>(chunks.size()));
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      failed = true;
      if (!failure) failure = std::current_exception();
    }
  });
  if (failure) std::rethrow_exception(failure);
  if (progress) progress(1.0);
}

namespace {

std::vector<float> zeros(std::int64_t n) {
  return std::vector<float>(static_cast<std::size_t>(round_to_panel(n)));
}

/// A feed-forward: `gate`, `up` and `down` are its tensors without suffixes, `width` that of what is
/// activated.
struct FeedForward {
  std::string gate, up, down;
  std::int64_t hidden = 0, width = 0;
  bool gated = true, bias = false;
};

void pack_feed_forward(WeightPacker& packer, const FeedForward& from, PackedMatrix& gate_up,
                       PackedMatrix& down, std::vector<float>& gate_up_bias, std::vector<float>& down_bias) {
  const RowMap up_rows = from.gated ? kUpPanels : RowMap{};
  const std::int64_t rows = (from.gated ? 2 : 1) * round_to_panel(from.width);
  if (from.gated) packer.matrix(gate_up, from.gate + ".weight", from.width, from.hidden, kGatePanels);
  packer.matrix(gate_up, from.up + ".weight", from.width, from.hidden, up_rows);
  packer.matrix(down, from.down + ".weight", from.hidden, from.width);
  packer.reserve(gate_up, rows, from.hidden);
  packer.reserve(down, from.hidden, from.width);
  if (!from.bias) return;
  gate_up_bias = zeros(rows);
  down_bias = zeros(from.hidden);
  if (from.gated) packer.bias(gate_up_bias, from.gate + ".bias", from.width, kGatePanels);
  packer.bias(gate_up_bias, from.up + ".bias", from.width, up_rows);
  packer.bias(down_bias, from.down + ".bias", from.hidden);
}

void pack_experts(WeightPacker& packer, const ModelConfig& config, const LayerSpec& layer_spec,
                  const std::string& prefix, LayerWeights& layer) {
  const TensorNames& names = find_family(config.family)->names;
  const ExpertSpec& spec = layer_spec.experts;
  const std::int64_t hidden = config.hidden;
  const auto parts = [&](const std::string& at, std::string_view gate, std::string_view up,
                         std::string_view down) {
    const auto name = [&](std::string_view part) { return fmt::format("{}{}", at, part); };
    return FeedForward{.gate = name(gate),
                       .up = name(up),
                       .down = name(down),
                       .hidden = hidden,
                       .gated = is_gated(layer_spec.activation)};
  };
  packer.exact(layer.router, fmt::format("{}{}.weight", prefix, names.router), spec.count, hidden);
  if (spec.bias) {
    layer.router_bias = zeros(spec.count);
    packer.bias(layer.router_bias, fmt::format("{}{}.bias", prefix, names.router), spec.count);
  }
  if (spec.chosen_by_bias) {
    packer.vector(layer.choice_bias, fmt::format("{}{}", prefix, names.choice_bias), spec.count);
  }
  if (spec.shared > 0) {
    FeedForward shared = parts(prefix, names.shared_gate, names.shared_up, names.shared_down);
    shared.width = spec.shared;
    pack_feed_forward(packer, shared, layer.gate_up, layer.down, layer.gate_up_bias, layer.down_bias);
    if (spec.shared_gate)
      packer.vector(layer.shared_scale, fmt::format("{}{}", prefix, names.shared_scale), hidden);
  }
  if (spec.latent > 0) {
    packer.matrix(layer.latent_in, fmt::format("{}{}.weight", prefix, names.latent_in), spec.latent, hidden);
    packer.matrix(layer.latent_out, fmt::format("{}{}.weight", prefix, names.latent_out), hidden,
                  spec.latent);
    packer.reserve(layer.latent_in, spec.latent, hidden);
    packer.reserve(layer.latent_out, hidden, spec.latent);
  }
  layer.experts.resize(static_cast<std::size_t>(spec.count));
  for (int e = 0; e < spec.count; ++e) {
    ExpertWeights& expert = layer.experts[static_cast<std::size_t>(e)];
    FeedForward from = parts(prefix + fmt::format(fmt::runtime(names.expert), e), names.expert_gate,
                             names.expert_up, names.expert_down);
    if (spec.latent > 0) from.hidden = spec.latent;
    from.width = spec.width;
    from.bias = spec.bias;
    pack_feed_forward(packer, from, expert.gate_up, expert.down, expert.gate_up_bias, expert.down_bias);
  }
}

/// `inputs`: what the q, k, v products read.
void pack_attention(WeightPacker& packer, const ModelConfig& config, const LayerSpec& spec,
                    const std::string& prefix, LayerWeights& layer, std::int64_t inputs) {
  const TensorNames& names = find_family(config.family)->names;
  const std::int64_t hidden = config.hidden;
  const std::int64_t head_dim = config.head_dim;
  const std::int64_t q_rows = config.heads * head_dim;
  const std::int64_t kv_rows = config.kv_heads * head_dim;
  const auto at = [&](std::string_view name, std::string_view suffix = "") {
    return fmt::format("{}{}{}", prefix, name, suffix);
  };
  const auto norm = [&](std::vector<float>& target, std::string_view name, std::int64_t n) {
    packer.norm(target, at(name), n, config.norm_offset);
  };
  if (spec.qk_norm != QkNorm::None) {
    const bool whole = spec.qk_norm == QkNorm::Whole;
    norm(layer.q_norm, names.q_norm, whole ? q_rows : head_dim);
    norm(layer.k_norm, names.k_norm, whole ? kv_rows : head_dim);
  }
  if (spec.sinks) packer.vector(layer.sinks, at(names.sinks), config.heads);
  const RotaryOrder order = rotary_order(config);
  std::vector<MatrixPiece> qkv = {{.name = at(names.q, ".weight"), .n = q_rows, .order = order},
                                  {.name = at(names.k, ".weight"), .n = kv_rows, .order = order},
                                  {.name = at(names.v, ".weight"), .n = kv_rows}};
  if (spec.gated) {  // each head's gate is stored behind its query
    qkv.front().from = {.offset = 0, .block = head_dim, .stride = 2 * head_dim};
    qkv.front().stored = 2 * q_rows;
    MatrixPiece gates = qkv.front();
    gates.order = {};
    gates.from.offset = head_dim;
    qkv.push_back(std::move(gates));
  }
  packer.fused(layer.qkv, qkv, inputs);
  packer.matrix(layer.o, at(names.o, ".weight"), hidden, q_rows);
  packer.reserve(layer.o, hidden, q_rows);
  if (spec.qkv_bias) {
    layer.qkv_bias = zeros(q_rows + 2 * kv_rows);
    packer.bias(layer.qkv_bias, at(names.q, ".bias"), q_rows, {}, order);
    packer.bias(layer.qkv_bias, at(names.k, ".bias"), kv_rows, {.offset = q_rows}, order);
    packer.bias(layer.qkv_bias, at(names.v, ".bias"), kv_rows, {.offset = q_rows + kv_rows});
  }
  if (spec.o_bias) {
    layer.o_bias = zeros(hidden);
    packer.bias(layer.o_bias, at(names.o, ".bias"), hidden);
  }
}

void pack_convolution(WeightPacker& packer, const ModelConfig& config, const LayerSpec& spec,
                      const std::string& prefix, LayerWeights& layer) {
  const TensorNames& names = find_family(config.family)->names;
  const std::int64_t hidden = config.hidden;
  const auto at = [&](std::string_view name, std::string_view suffix) {
    return fmt::format("{}{}{}", prefix, name, suffix);
  };
  const MatrixPiece in[] = {{at(names.conv_in, ".weight"), 3 * hidden}};
  packer.fused(layer.qkv, in, hidden);
  packer.matrix(layer.o, at(names.conv_out, ".weight"), hidden, hidden);
  packer.reserve(layer.o, hidden, hidden);
  packer.taps(layer.taps, at(names.conv_taps, ".weight"), hidden, spec.conv.taps);
  if (!spec.conv.bias) return;
  layer.qkv_bias = zeros(3 * hidden);
  layer.o_bias = zeros(hidden);
  packer.bias(layer.qkv_bias, at(names.conv_in, ".bias"), 3 * hidden);
  packer.bias(layer.o_bias, at(names.conv_out, ".bias"), hidden);
  packer.vector(layer.taps_bias, at(names.conv_taps, ".bias"), hidden);
}

void pack_recurrent(WeightPacker& packer, const ModelConfig& config, const LayerSpec& spec,
                    const std::string& prefix, LayerWeights& layer) {
  const Family& family = *find_family(config.family);
  const TensorNames& names = family.names;
  const RecurrentSpec& recurrent = spec.recurrent;
  const auto at = [&](std::string_view name, std::string_view suffix = "") {
    return fmt::format("{}{}{}", prefix, name, suffix);
  };
  const RecurrentPieces pieces = recurrent_pieces(family, recurrent, prefix, packer.source());
  packer.fused(layer.qkv, pieces.qkvz, config.hidden);
  packer.exact(layer.recurrent_gates, pieces.gates, config.hidden);
  packer.matrix(layer.o, at(names.recurrent_out, ".weight"), config.hidden, recurrent.values());
  packer.reserve(layer.o, config.hidden, recurrent.values());
  const std::vector<std::int64_t> channels = stored_channels(recurrent);
  packer.taps(layer.taps, at(names.recurrent_taps, ".weight"), recurrent.channels(), recurrent.taps,
              channels);
  if (recurrent.conv_bias) {
    packer.vector(layer.taps_bias, at(names.recurrent_taps, ".bias"), recurrent.channels());
    layer.taps_bias = in_order(std::move(layer.taps_bias), channels);
  }
  if (recurrent.mamba()) packer.vector(layer.recurrent_skip, at(names.mamba_skip), recurrent.value_heads);
  packer.decay(layer.recurrent_decay, at(names.recurrent_log), at(names.recurrent_decay),
               recurrent.value_heads);
  packer.vector(layer.recurrent_bias, at(names.recurrent_bias), recurrent.value_heads);
  packer.vector(layer.recurrent_norm, at(names.recurrent_norm), recurrent.norm_weights());
}

}  // namespace

void pack_layer(WeightPacker& packer, const ModelConfig& config, int index, const std::string& prefix,
                LayerWeights& layer, const LayerForm& form) {
  const LayerSpec& spec = config.layer(index);
  const TensorNames& names = find_family(config.family)->names;
  const std::int64_t hidden = config.hidden;
  const std::int64_t inputs = form.attention_inputs > 0 ? form.attention_inputs : hidden;
  const auto at = [&](std::string_view name, std::string_view suffix = "") {
    return fmt::format("{}{}{}", prefix, name, suffix);
  };
  const auto norm = [&](std::vector<float>& target, std::string_view name, std::int64_t n) {
    packer.norm(target, at(name), n, config.norm_offset);
  };
  if (spec.norms != NormPlace::After) {
    if (spec.mixes() && form.attention_norm) norm(layer.attention_norm, names.attention_norm, hidden);
    if (spec.feeds_forward()) norm(layer.mlp_norm, names.mlp_norm, hidden);
  }
  if (spec.norms != NormPlace::Before) {
    if (spec.mixes()) norm(layer.attention_after_norm, names.attention_after_norm, hidden);
    if (spec.feeds_forward()) norm(layer.mlp_after_norm, names.mlp_after_norm, hidden);
  }
  if (!spec.mixes()) {
    // a feed-forward alone
  } else if (spec.attends()) {
    pack_attention(packer, config, spec, prefix, layer, inputs);
  } else if (spec.recurs()) {
    pack_recurrent(packer, config, spec, prefix, layer);
  } else {
    pack_convolution(packer, config, spec, prefix, layer);
  }
  if (!spec.feeds_forward()) return;
  if (spec.experts.count > 0) return pack_experts(packer, config, spec, prefix, layer);
  pack_feed_forward(packer,
                    {.gate = at(names.gate),
                     .up = at(names.up),
                     .down = at(names.down),
                     .hidden = hidden,
                     .width = config.intermediate,
                     .gated = is_gated(spec.activation),
                     .bias = spec.mlp_bias},
                    layer.gate_up, layer.down, layer.gate_up_bias, layer.down_bias);
}

}  // namespace augur
