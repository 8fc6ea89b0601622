#include "lab/train/lm_learner.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/convert.h"
#include "lab/train/vocabulary_loss.h"

namespace augur {

namespace {

TorchLlama fresh(const LmLearner::Options& options) {
  torch::Generator generator = keyed_generator(options.seed);
  return TorchLlama(options.shape, generator, options.device);
}

}  // namespace

LmLearner::LmLearner(const Options& options) : options_(options), model_(fresh(options)) {
  if (options.target != nullptr && options.target->config().vocab != options.shape.vocab) {
    throw Error("draft model: {} tokens, its target has {}", options.shape.vocab,
                options.target->config().vocab);
  }
}

Grade LmLearner::run(std::span<const Example> examples, bool learn) {
  Grade grade(1);
  std::vector<std::span<const TokenId>> texts;
  std::vector<std::int64_t> rows;  // that are followed by a token to learn
  std::vector<std::int64_t> next;  // the token behind each row
  for (const Example& example : examples) {
    const std::int64_t begin = std::ssize(next);
    texts.push_back(example.tokens);
    for (std::size_t i = 0; i < example.tokens.size(); ++i) {
      const bool last = i + 1 == example.tokens.size();
      if (!last && example.learn[i + 1] != 0) rows.push_back(begin + static_cast<std::int64_t>(i));
      next.push_back(last ? 0 : example.tokens[i + 1]);
    }
  }
  if (rows.empty()) return grade;
  VocabularyTargets targets;
  if (options_.target != nullptr) {
    const DraftVocabulary all(options_.shape.vocab);
    const Lesson lesson = prepare_lesson(*options_.target, examples, {}, &all);
    targets.targets = lesson.distributions;
    targets.wanted = index_tensor(lesson.pairs(0).wanted, options_.device);
  } else {
    targets.targets = index_tensor(next, options_.device);
    targets.wanted = index_tensor(rows, options_.device);
  }
  const torch::AutoGradMode mode(learn);
  const torch::Tensor hidden =
      model_.forward(texts).last.index_select(0, index_tensor(rows, options_.device));
  const VocabularyLoss loss =
      vocabulary_loss({.hidden = model_.final_norm(hidden), .weight = model_.head()}, targets);
  if (learn) loss.sum.backward();
  grade.rows = static_cast<std::int64_t>(rows.size());
  grade.count(0, loss.agreed.sum().item<std::int64_t>(), grade.rows);
  grade.loss = loss.sum.item<double>();
  return grade;
}

torch::Tensor LmLearner::draft_logits(const Example& example, std::int64_t root) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor hidden = model_.forward(example.tokens).last;
  return model_.logits(hidden.slice(0, root, hidden.size(0)));
}

void LmLearner::save(const std::filesystem::path& folder) {
  if (options_.tokenizer != nullptr) write_tokenizer(*options_.tokenizer, folder);
  Learner::save(folder);
}

nlohmann::json LmLearner::config() const {
  const ModelConfig& c = options_.shape;
  nlohmann::json config = {{"architectures", {"LlamaForCausalLM"}},
                           {"model_type", "llama"},
                           {"hidden_size", c.hidden},
                           {"intermediate_size", c.intermediate},
                           {"num_hidden_layers", c.layers},
                           {"num_attention_heads", c.heads},
                           {"num_key_value_heads", c.kv_heads},
                           {"head_dim", c.head_dim},
                           {"hidden_act", "silu"},
                           {"attention_bias", false},
                           {"mlp_bias", false},
                           {"rms_norm_eps", c.norm_eps},
                           {"rope_theta", c.rope().theta},
                           {"max_position_embeddings", c.max_context},
                           {"vocab_size", c.vocab},
                           {"tie_word_embeddings", c.tied_embeddings},
                           {"torch_dtype", "bfloat16"}};
  if (options_.tokenizer == nullptr) return config;
  const nlohmann::json& source = options_.tokenizer->config();
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"}) {
    if (const auto it = source.find(key); it != source.end()) config[key] = *it;
  }
  return config;
}

ModelConfig llama_shape(const LmShape& shape, const nlohmann::json& other, const std::string& file) {
  const auto given = [&](const char* key) {
    const auto it = other.find(key);
    if (it == other.end() || !it->is_number()) throw Error("{}: {}: expected a number", file, key);
    return *it;
  };
  if (shape.hidden % shape.heads != 0 || shape.hidden / shape.heads % 2 != 0) {
    throw Error("{} heads do not share a hidden size of {} in even parts", shape.heads, shape.hidden);
  }
  if (shape.heads % shape.kv_heads != 0) {
    throw Error("{} key/value heads do not divide {} heads", shape.kv_heads, shape.heads);
  }
  nlohmann::json config = {{"model_type", "llama"},
                           {"hidden_size", shape.hidden},
                           {"intermediate_size", shape.intermediate},
                           {"num_hidden_layers", shape.layers},
                           {"num_attention_heads", shape.heads},
                           {"num_key_value_heads", shape.kv_heads},
                           {"hidden_act", "silu"},
                           {"rms_norm_eps", 1e-5},
                           {"rope_theta", other.value("rope_theta", 10000.0)},
                           {"max_position_embeddings", shape.context > 0 ? nlohmann::json(shape.context)
                                                                         : given("max_position_embeddings")},
                           {"vocab_size", given("vocab_size")},
                           {"tie_word_embeddings", true}};
  return ModelConfig::from_json(config, "the model to train");
}

}  // namespace augur
