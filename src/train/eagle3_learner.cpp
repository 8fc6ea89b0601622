#include "train/eagle3_learner.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "io/atomic_file.h"
#include "io/safetensors.h"

namespace augur {

std::vector<TokenId> frequent_tokens(const Dataset& data, std::int32_t vocabulary, std::int32_t size,
                                     std::span<const TokenId> always) {
  if (size < 1 || size > vocabulary) {
    throw Error("draft vocabulary: {} is not between 1 and the target's {}", size, vocabulary);
  }
  std::vector<std::int64_t> counts(static_cast<std::size_t>(vocabulary), 0);
  for (std::int64_t i = 0; i < data.size(); ++i) {
    const Example example = data[i];
    for (std::size_t t = 0; t < example.tokens.size(); ++t) {
      if (example.learn[t] != 0) ++counts[static_cast<std::size_t>(example.tokens[t])];
    }
  }
  for (const TokenId id : always) counts[static_cast<std::size_t>(id)] = INT64_MAX;
  std::vector<TokenId> ids(static_cast<std::size_t>(vocabulary));
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](TokenId a, TokenId b) {
    return counts[static_cast<std::size_t>(a)] > counts[static_cast<std::size_t>(b)];
  });
  ids.resize(static_cast<std::size_t>(size));
  std::sort(ids.begin(), ids.end());
  return ids;
}

namespace {

torch::Tensor leaf(torch::Tensor value) {
  return value.to(torch::kFloat32).contiguous().clone().requires_grad_(true);
}

torch::Tensor rows_int64(std::vector<std::int64_t> rows) {
  return torch::tensor(rows, torch::kInt64);
}

}  // namespace

std::vector<int> Eagle3Learner::default_aux_layers(const ModelConfig& target) {
  return {2, target.layers / 2, target.layers - 3};
}

Eagle3Learner::Eagle3Learner(const TorchLlama& target, std::vector<TokenId> draft_vocabulary,
                             const Options& options)
    : target_(target), options_(options), draft_vocabulary_(std::move(draft_vocabulary)) {
  const ModelConfig& c = target.config();
  rope_ = make_rope_table(c.rope, c.head_dim, c.max_context);
  aux_layers_ = default_aux_layers(c);
  draft_ids_ = torch::tensor(std::vector<std::int64_t>(draft_vocabulary_.begin(), draft_vocabulary_.end()),
                             torch::kInt64);
  in_vocabulary_ = torch::zeros({c.vocab}, torch::kBool);
  in_vocabulary_.index_fill_(0, draft_ids_, true);

  // The target's residual stream has its own scale at every tap, far from 1; the projection starts by undoing
  // it, so that what the layer adds weighs as much as what it is added to.
  torch::manual_seed(options.seed);
  const std::int64_t h = c.hidden;
  const std::int64_t q_width = std::int64_t{c.heads} * c.head_dim;
  const std::int64_t kv_width = std::int64_t{c.kv_heads} * c.head_dim;
  const auto random = [&](std::int64_t out, std::int64_t in) {
    return torch::randn({out, in}) / std::sqrt(static_cast<double>(in));
  };
  torch::Tensor fc = random(h, 3 * h);
  for (std::int64_t tap = 0; tap < 3; ++tap)
    fc.slice(1, tap * h, (tap + 1) * h) /= options.tap_scales[static_cast<std::size_t>(tap)];
  fc_ = leaf(fc);
  q_ = leaf(random(q_width, 2 * h));
  k_ = leaf(random(kv_width, 2 * h));
  v_ = leaf(random(kv_width, 2 * h));
  o_ = leaf(random(h, q_width));
  gate_ = leaf(random(c.intermediate, h));
  up_ = leaf(random(c.intermediate, h));
  down_ = leaf(random(h, c.intermediate));
  hidden_norm_ = leaf(torch::ones({h}));
  input_norm_ = leaf(torch::ones({h}));
  post_norm_ = leaf(torch::ones({h}));
  norm_ = leaf(torch::ones({h}));
  head_ = leaf(target.head().index_select(0, draft_ids_));
}

NamedTensors Eagle3Learner::parameters() {
  return {{"fc.weight", fc_},
          {"midlayer.self_attn.q_proj.weight", q_},
          {"midlayer.self_attn.k_proj.weight", k_},
          {"midlayer.self_attn.v_proj.weight", v_},
          {"midlayer.self_attn.o_proj.weight", o_},
          {"midlayer.mlp.gate_proj.weight", gate_},
          {"midlayer.mlp.up_proj.weight", up_},
          {"midlayer.mlp.down_proj.weight", down_},
          {"midlayer.hidden_norm.weight", hidden_norm_},
          {"midlayer.input_layernorm.weight", input_norm_},
          {"midlayer.post_attention_layernorm.weight", post_norm_},
          {"norm.weight", norm_},
          {"lm_head.weight", head_}};
}

/// Keys and values that later steps attend to.
struct Eagle3Learner::Cache {
  torch::Tensor first_keys, first_values;   ///< step 0: [heads, T, d]
  torch::Tensor mask;                       ///< causal, [T, T]
  std::vector<torch::Tensor> keys, values;  ///< step 1, 2, ...: [heads, T, d]
};

torch::Tensor Eagle3Learner::layer(const torch::Tensor& hidden, const torch::Tensor& embedded, int step,
                                   Cache& cache) const {
  const ModelConfig& c = target_.config();
  const double eps = c.norm_eps;
  const std::int64_t rows = hidden.size(0);
  const torch::Tensor input =
      torch::cat({rms_norm(embedded, input_norm_, eps), rms_norm(hidden, hidden_norm_, eps)}, 1)
          .to(torch::kBFloat16);
  const Rotation rotation = make_rotation(rope_, step, rows);
  const auto heads = [&](const torch::Tensor& x, std::int64_t count) {
    return x.view({rows, count, c.head_dim});
  };
  const torch::Tensor q =
      rotate(heads(linear_bf16(input, q_), c.heads), rotation).transpose(0, 1).to(torch::kBFloat16);
  const torch::Tensor k =
      spread_heads(rotate(heads(linear_bf16(input, k_), c.kv_heads), rotation), c.heads).to(torch::kBFloat16);
  const torch::Tensor v = spread_heads(heads(linear_bf16(input, v_), c.kv_heads), c.heads);
  const double scale = 1 / std::sqrt(static_cast<double>(c.head_dim));

  torch::Tensor mixed;
  if (step == 0) {
    cache.first_keys = k;
    cache.first_values = v;
    cache.mask = causal_mask(rows);
    const torch::Tensor scores = torch::bmm(q, k.transpose(1, 2)).to(torch::kFloat32) * scale + cache.mask;
    mixed = torch::bmm(scores.softmax(-1).to(torch::kBFloat16), v);
  } else {
    cache.keys.push_back(k);
    cache.values.push_back(v);
    const torch::Tensor first_k = cache.first_keys.slice(1, 0, rows);
    const torch::Tensor first_v = cache.first_values.slice(1, 0, rows);
    std::vector<torch::Tensor> scores = {torch::bmm(q, first_k.transpose(1, 2)).to(torch::kFloat32) * scale +
                                         cache.mask.slice(0, 0, rows).slice(1, 0, rows)};
    for (const torch::Tensor& key : cache.keys) {
      scores.push_back((q * key.slice(1, 0, rows)).sum(-1, true, torch::kFloat32) * scale);
    }
    const torch::Tensor p = torch::cat(scores, -1).softmax(-1).to(torch::kBFloat16);
    mixed = torch::bmm(p.slice(2, 0, rows), first_v);
    for (std::size_t j = 0; j < cache.values.size(); ++j) {
      const auto column = rows + static_cast<std::int64_t>(j);
      mixed = mixed + p.slice(2, column, column + 1) * cache.values[j].slice(1, 0, rows);
    }
  }
  torch::Tensor x = hidden + linear_bf16(mixed.transpose(0, 1).reshape({rows, -1}), o_);
  const torch::Tensor m = rms_norm(x, post_norm_, eps).to(torch::kBFloat16);
  return x + linear_bf16(torch::silu(linear_bf16(m, gate_)) * linear_bf16(m, up_), down_);
}

Grade Eagle3Learner::run(const Example& example, bool learn) {
  const auto length = static_cast<std::int64_t>(example.tokens.size());
  Grade grade;
  grade.hits.resize(static_cast<std::size_t>(options_.unroll));
  grade.tries.resize(static_cast<std::size_t>(options_.unroll));
  const torch::AutoGradMode mode(learn);

  // What the target says: taps for the input, and at each position whose next token is to be learnt its
  // distribution over the draft vocabulary.
  const TorchLlama::Output target = target_.forward(example.tokens, aux_layers_);
  std::vector<std::int64_t> graded;
  for (std::int64_t j = 1; j + 1 < length; ++j) {
    if (example.learn[static_cast<std::size_t>(j + 1)] != 0) graded.push_back(j);
  }
  if (graded.empty()) return grade;
  torch::Tensor distributions;
  std::vector<std::int64_t> row_of(static_cast<std::size_t>(length), -1);  // position -> row of distributions
  {
    const torch::NoGradGuard no_grad;
    const torch::Tensor logits = target_.logits(target.last.index_select(0, rows_int64(graded)));
    const torch::Tensor covered = in_vocabulary_.index_select(0, logits.argmax(-1)).contiguous();
    distributions = logits.index_select(1, draft_ids_).softmax(-1).to(torch::kBFloat16);
    for (std::size_t i = 0; i < graded.size(); ++i) {
      if (covered[static_cast<std::int64_t>(i)].item<bool>()) {
        row_of[static_cast<std::size_t>(graded[i])] = static_cast<std::int64_t>(i);
      }
    }
  }

  const torch::Tensor ids =
      torch::tensor(std::vector<std::int64_t>(example.tokens.begin(), example.tokens.end()), torch::kInt64);
  const torch::Tensor embedded = target_.embedding().index_select(0, ids).to(torch::kFloat32);
  torch::Tensor hidden = linear_bf16(torch::cat(target.taps, 1), fc_).to(torch::kFloat32);
  Cache cache;
  torch::Tensor total = torch::zeros({});
  double weight = 1;
  for (int s = 0; s < options_.unroll; ++s, weight *= options_.decay) {
    const std::int64_t rows = length - 2 - s;
    if (rows < 1) break;
    hidden = layer(hidden.slice(0, 0, rows), embedded.slice(0, 1 + s, 1 + s + rows), s, cache);
    std::vector<std::int64_t> learnt, wanted;
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t row = row_of[static_cast<std::size_t>(i + 1 + s)];
      if (row < 0) continue;
      learnt.push_back(i);
      wanted.push_back(row);
    }
    if (learnt.empty()) continue;
    const torch::Tensor normed =
        rms_norm(hidden.index_select(0, rows_int64(learnt)), norm_, target_.config().norm_eps);
    const HeadLoss loss = soft_cross_entropy(normed, head_, distributions, rows_int64(wanted));
    total = total + loss.sum * weight;
    const auto at = static_cast<std::size_t>(s);
    grade.hits[at] = loss.agreed;
    grade.tries[at] = static_cast<std::int64_t>(learnt.size());
    if (s == 0) grade.rows = grade.tries[0];
  }
  grade.loss = total.item<double>();
  if (learn && grade.rows > 0) total.backward();
  return grade;
}

void Eagle3Learner::save(const std::filesystem::path& folder) {
  const ModelConfig& c = target_.config();
  NamedTensors tensors;
  for (const auto& [name, tensor] : parameters()) tensors.emplace_back(name, tensor.to(torch::kBFloat16));
  tensors.emplace_back("d2t", draft_ids_ - torch::arange(draft_ids_.size(0)));
  tensors.emplace_back("t2d", in_vocabulary_);
  save_tensors(folder / "model.safetensors", tensors);
  const nlohmann::json config = {
      {"architectures", {"LlamaForCausalLMEagle3"}},
      {"model_type", "llama"},
      {"hidden_size", c.hidden},
      {"target_hidden_size", c.hidden},
      {"intermediate_size", c.intermediate},
      {"num_hidden_layers", 1},
      {"num_attention_heads", c.heads},
      {"num_key_value_heads", c.kv_heads},
      {"head_dim", c.head_dim},
      {"hidden_act", "silu"},
      {"rms_norm_eps", c.norm_eps},
      {"rope_theta", c.rope.theta},
      {"max_position_embeddings", c.max_context},
      {"vocab_size", c.vocab},
      {"draft_vocab_size", draft_ids_.size(0)},
      {"eagle_aux_hidden_state_layer_ids", aux_layers_},
      {"torch_dtype", "bfloat16"},
  };
  AtomicFile file(folder / "config.json");
  file.write(config.dump(2) + "\n");
  file.commit();
}

void Eagle3Learner::load(const std::filesystem::path& folder) {
  const std::unique_ptr<WeightStore> store = open_safetensors_folder(folder);
  const torch::NoGradGuard no_grad;
  const torch::Tensor ids =
      to_torch(store->require("d2t", {draft_ids_.size(0)})) + torch::arange(draft_ids_.size(0));
  if (!ids.equal(draft_ids_)) throw Error("{}: another draft vocabulary than this run's", folder.string());
  for (auto& [name, tensor] : parameters()) {
    tensor.copy_(to_torch(store->require(name, {tensor.sizes().begin(), tensor.sizes().end()})));
  }
}

}  // namespace augur
