// EAGLE-3's training as its paper writes it down, one sequence after the other, against the learner's packs.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "product_type.h"
#include "train_fixture.h"

namespace augur {
namespace {

using namespace testing_support;

using Weights = std::map<std::string, torch::Tensor>;

torch::Tensor plain_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps) {
  return x / (x.square().mean(-1, true) + eps).sqrt() * weight;
}

/// x [T, heads, d], whose halves turn by its rows' positions.
torch::Tensor plain_rotation(const torch::Tensor& x, std::int64_t first, double theta) {
  const std::int64_t half = x.size(2) / 2;
  const torch::Tensor frequencies =
      torch::pow(theta, -torch::arange(half, torch::kFloat64) / static_cast<double>(half));
  const torch::Tensor angles =
      torch::outer(torch::arange(first, first + x.size(0), torch::kFloat64), frequencies);
  const torch::Tensor cos = angles.cos().to(torch::kFloat32).unsqueeze(1);
  const torch::Tensor sin = angles.sin().to(torch::kFloat32).unsqueeze(1);
  const torch::Tensor a = x.slice(2, 0, half), b = x.slice(2, half);
  return torch::cat({a * cos - b * sin, b * cos + a * sin}, 2);
}

/// The summed loss of one sequence all of which is learnt.
torch::Tensor plain_loss(const Weights& w, const TorchLlama& target, const DraftVocabulary& vocabulary,
                         const std::vector<TokenId>& tokens, int steps, double decay) {
  const ModelConfig shape = head_shape(target.config());
  const double eps = shape.norm_eps;
  const auto length = std::ssize(tokens);
  const std::vector<int> taps = default_taps(target.config());
  const TorchLlama::Output said = target.forward(tokens, taps);
  const torch::Tensor all = target.logits(said.last);
  const torch::Tensor p = vocabulary.columns(all).softmax(-1);
  const torch::Tensor covered = vocabulary.covers(all.argmax(-1));
  const auto at = [&](const char* name) { return w.at(std::string("midlayer.") + name + ".weight"); };
  const auto heads_of = [&](const torch::Tensor& x, int heads) {
    return x.view({length, heads, shape.head_dim}).transpose(0, 1);
  };
  torch::Tensor state = torch::cat(said.taps, 1).mm(w.at("fc.weight").t());
  torch::Tensor first_k, first_v, loss = torch::zeros({});
  std::vector<torch::Tensor> later_k, later_v;
  for (int s = 0; s < steps; ++s) {
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < length; ++i)
      ids.push_back(tokens[static_cast<std::size_t>(std::min<std::int64_t>(i + 1 + s, length - 1))]);
    const torch::Tensor embedded = target.embed(torch::tensor(ids));
    const torch::Tensor a = torch::cat(
        {plain_norm(embedded, at("input_layernorm"), eps), plain_norm(state, at("hidden_norm"), eps)}, 1);
    const auto turned = [&](const torch::Tensor& x, int heads) {
      return plain_rotation(x.view({length, heads, shape.head_dim}), s, shape.rope().theta).transpose(0, 1);
    };
    const std::int64_t group = shape.heads / shape.kv_heads;
    const torch::Tensor q = turned(a.mm(at("self_attn.q_proj").t()), shape.heads);
    const torch::Tensor k =
        turned(a.mm(at("self_attn.k_proj").t()), shape.kv_heads).repeat_interleave(group, 0);
    const torch::Tensor v =
        heads_of(a.mm(at("self_attn.v_proj").t()), shape.kv_heads).repeat_interleave(group, 0);
    if (s == 0) {
      first_k = k;
      first_v = v;
    } else {
      later_k.push_back(k);
      later_v.push_back(v);
    }
    const torch::Tensor mask = torch::full({length, length}, -INFINITY).triu(1);
    std::vector<torch::Tensor> scores = {q.matmul(first_k.transpose(1, 2)) + mask};
    for (const torch::Tensor& own : later_k) scores.push_back((q * own).sum(-1, true));
    const torch::Tensor chance =
        (torch::cat(scores, 2) / std::sqrt(static_cast<double>(shape.head_dim))).softmax(-1);
    torch::Tensor mixed = chance.slice(2, 0, length).matmul(first_v);
    for (std::size_t j = 0; j < later_v.size(); ++j) {
      const auto column = length + static_cast<std::int64_t>(j);
      mixed = mixed + chance.slice(2, column, column + 1) * later_v[j];
    }
    torch::Tensor x = state + mixed.transpose(0, 1).flatten(1).mm(at("self_attn.o_proj").t());
    const torch::Tensor m = plain_norm(x, at("post_attention_layernorm"), eps);
    x = x + (torch::silu(m.mm(at("mlp.gate_proj").t())) * m.mm(at("mlp.up_proj").t()))
                .mm(at("mlp.down_proj").t());
    state = x;
    const torch::Tensor log_q =
        plain_norm(x, w.at("norm.weight"), eps).mm(w.at("lm_head.weight").t()).log_softmax(-1);
    for (std::int64_t i = 0; i + 1 + s + 1 < length; ++i) {  // row i speaks of what follows token i + 1 + s
      if (covered[i + 1 + s].item<bool>()) loss = loss - std::pow(decay, s) * (p[i + 1 + s] * log_q[i]).sum();
    }
  }
  return loss;
}

TEST(Eagle3Gradients, ArePlainOnes) {
  const ProductType exact(torch::kFloat32);
  const TrainTarget target(torch::kCPU, TargetForward::Libtorch);
  const DraftVocabulary vocabulary = target.reduced();
  Eagle3Learner::Options options{.unroll = {.steps = 4, .decay = 0.8, .evaluated = 4}};
  options.taps = default_taps(target.model.config());
  options.tap_scales = tap_scales(target.model, target.data, options.taps);
  Eagle3Learner learner(target.model, vocabulary, options);
  std::vector<std::vector<TokenId>> texts;
  for (const int length : {40, 3, 17, 38, 29})
    texts.push_back(toy_tokens(static_cast<std::uint32_t>(length), length));
  const std::vector<std::uint8_t> learn(40, 1);
  std::vector<Example> examples;
  for (const auto& text : texts) examples.push_back({text, std::span(learn).first(text.size()), 0});
  const Grade grade = learner.run(examples, true);

  Weights weights;
  for (const auto& [name, tensor] : learner.parameters())
    weights[name] = tensor.detach().clone().requires_grad_(true);
  torch::Tensor loss = torch::zeros({});
  for (const auto& text : texts) loss = loss + plain_loss(weights, target.model, vocabulary, text, 4, 0.8);
  loss.backward();
  EXPECT_NEAR(grade.loss, loss.item<double>(), 1e-4 * loss.item<double>());
  for (const auto& [name, tensor] : learner.parameters()) {
    const torch::Tensor found = tensor.grad(), expected = weights.at(name).grad();
    ASSERT_TRUE(found.defined()) << name;
    EXPECT_LT(((found - expected).norm() / expected.norm()).item<double>(), 1e-4) << name;
    EXPECT_LT((found - expected).abs().max().item<double>(), 1e-4 * expected.abs().max().item<double>())
        << name;
  }
}

}  // namespace
}  // namespace augur
