// The promise for models whose layers keep a state: what is kept, suspended, saved, shared or read in pieces
// writes the tokens of a text that is read at once and alone.
#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>
#include <random>

#include "augur/session.h"
#include "support/eventually.h"
#include "support/random_folder.h"
#include "support/stories_engine.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

constexpr int kPageTokens = 64;

struct StateModel {
  const char* name;
  const char* config;
};

/// With the first and the last layer of the kind, and without.
const StateModel kModels[] = {
    {"lfm2", R"({"model_type": "lfm2", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 5,
      "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512, "max_position_embeddings": 768,
      "block_auto_adjust_ff_dim": false, "bos_token_id": 1, "eos_token_id": 2,
      "layer_types": ["conv", "full_attention", "conv", "full_attention", "conv"]})"},
    {"lfm2_wide",
     R"({"model_type": "lfm2", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3,
      "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512, "max_position_embeddings": 768,
      "block_auto_adjust_ff_dim": false, "bos_token_id": 1, "eos_token_id": 2, "conv_L_cache": 9,
      "conv_bias": true, "layer_types": ["full_attention", "conv", "full_attention"]})"},
    {"delta",
     R"({"model_type": "qwen3_5_text", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 5,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 512,
      "max_position_embeddings": 768, "linear_num_key_heads": 2, "linear_num_value_heads": 6,
      "linear_key_head_dim": 24, "linear_value_head_dim": 20, "linear_conv_kernel_dim": 4,
      "rope_parameters": {"rope_theta": 10000.0, "partial_rotary_factor": 0.25, "rope_type": "default"},
      "bos_token_id": 1, "eos_token_id": 2, "layer_types": ["linear_attention", "full_attention",
      "linear_attention", "full_attention", "linear_attention"]})"},
    {"delta_wide",
     R"({"model_type": "qwen3_next", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 512,
      "max_position_embeddings": 768, "linear_num_key_heads": 2, "linear_num_value_heads": 2,
      "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 7, "num_experts": 4,
      "num_experts_per_tok": 2, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32,
      "mlp_only_layers": [0, 1], "decoder_sparse_step": 1, "rope_theta": 10000.0, "full_attention_interval": 2,
      "partial_rotary_factor": 0.25, "bos_token_id": 1, "eos_token_id": 2})"},
    {"mamba",
     R"({"model_type": "granitemoehybrid", "hidden_size": 64, "intermediate_size": 96,
      "shared_intermediate_size": 96, "num_local_experts": 0, "num_hidden_layers": 5, "num_attention_heads": 4,
      "num_key_value_heads": 2, "vocab_size": 512, "max_position_embeddings": 768, "mamba_n_heads": 16,
      "mamba_n_groups": 1, "mamba_d_state": 24, "mamba_d_head": 8, "residual_multiplier": 0.5,
      "position_embedding_type": "nope", "bos_token_id": 1, "eos_token_id": 2,
      "layer_types": ["mamba", "attention", "mamba", "mamba", "mamba"]})"},
    {"mamba_experts",
     R"({"model_type": "granitemoehybrid", "hidden_size": 64, "intermediate_size": 32,
      "shared_intermediate_size": 48, "num_local_experts": 4, "num_experts_per_tok": 2, "num_hidden_layers": 3,
      "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512, "max_position_embeddings": 768,
      "mamba_n_heads": 8, "mamba_n_groups": 8, "mamba_d_state": 16, "mamba_d_head": 128, "mamba_expand": 16,
      "mamba_d_conv": 7, "position_embedding_type": "rope", "rope_theta": 10000.0, "bos_token_id": 1,
      "eos_token_id": 2, "layer_types": ["attention", "mamba", "attention"]})"},
};

class LosslessStates : public testing::TestWithParam<StateModel> {
 protected:
  LosslessStates() {
    const nlohmann::json json = nlohmann::json::parse(GetParam().config);
    const ModelConfig config = ModelConfig::from_json(json, GetParam().name);
    keeps_states_ = config.recurrent().key_heads > 0;
    drafts_itself_ = keeps_states_ && !config.recurrent().mamba();
    testing_support::write_random_folder(
        folder_.path(), json,
        drafts_itself_ ? testing_support::own_layer(config) : std::vector<SafetensorsWriter::Entry>());
    EngineOptions options;
    options.model = folder_.path().string();
    options.threads = 2;
    // One that has states, too, and is mostly right.
    std::filesystem::create_directory(folder_.path() / "draft");
    testing_support::write_random_folder(folder_.path() / "draft", json);
    options.draft_models = {{"alike", (folder_.path() / "draft").string()}};
    engine_ = testing_support::test_engine(options);
    options.draft_models.clear();
    alone_ = testing_support::test_engine(options);
  }

  /// `first` of its tokens are common to all.
  Request request(int length, int first, std::uint64_t seed, const char* plan) const {
    Request request;
    std::mt19937 common(1);
    std::mt19937 own(static_cast<unsigned>(seed));
    for (int i = 0; i < length; ++i) {
      // With repetitions, for the look-ups.
      request.prompt_tokens.push_back(i < first     ? static_cast<TokenId>(3 + common() % 60)
                                      : i % 16 >= 8 ? request.prompt_tokens[static_cast<std::size_t>(i - 8)]
                                                    : static_cast<TokenId>(3 + own() % 60));
    }
    request.max_tokens = 40;
    if (seed % 2 == 1) request.sampling = {.temperature = 0.7, .seed = seed};
    request.speculation = SpeculationPlan::parse(plan);
    return request;
  }

  std::vector<Request> requests() const {
    std::vector<const char*> plans = {"none",
                                      "ngram:n-max=5",
                                      "layerskip:policy=eagle2,topk=3,depth=3,size=12",
                                      "recycling,ngram:policy=auto",
                                      "@alike:n-max=4",
                                      "@alike:policy=eagle2,topk=3,depth=3,size=10"};
    if (drafts_itself_) plans.insert(plans.end(), {kOwnLayer, "mtp:n-max=3", "mtp,ngram:policy=auto"});
    std::vector<Request> all;
    std::uint64_t seed = 1;
    for (const int length : {1, 2, 7, 64, 65, 130, 200, 333}) {
      for (const char* plan : plans) all.push_back(request(length, length > 100 ? 90 : 0, seed++, plan));
    }
    return all;
  }

  Result plain(Request request) const {
    request.speculation = SpeculationPlan::parse("none");
    return alone_->generate(request);
  }

  /// What drafts where a test wants one drafter that has a memory.
  const char* own_plan() const { return drafts_itself_ ? kOwnLayer : "ngram:n-max=4"; }

  static constexpr const char* kOwnLayer = "mtp:policy=eagle2,topk=3,depth=3,size=12";
  bool keeps_states_ = false;
  bool drafts_itself_ = false;  ///< the model has a layer for that
  testing_support::TemporaryFolder folder_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Engine> alone_;  ///< an engine with a session is that session's
};

TEST_P(LosslessStates, LittleMemoryAndManyTextsChangeNoToken) {
  const std::vector<Request> all = requests();
  std::vector<Result> alone;
  for (const Request& r : all) alone.push_back(plain(r));
  for (const std::int64_t memory : {std::int64_t{0}, std::int64_t{2} << 20}) {
    Session session(*engine_, {.parallel = 8, .memory = memory});
    std::vector<Ticket> tickets;
    for (const Request& r : all) tickets.push_back(session.submit(r));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Result result = tickets[i].wait();
      EXPECT_EQ(result.error, "");
      EXPECT_EQ(result.tokens, alone[i].tokens) << "request " << i << " in " << memory << " bytes";
    }
  }
}

TEST_P(LosslessStates, TheNextTurnBeginsWhereTheLastEnded) {
  Session session(*engine_);
  Request next = request(150, 0, 3, own_plan());
  for (int turn = 0; turn < 3; ++turn) {
    const Result result = session.submit(next).wait();
    EXPECT_EQ(result.tokens, plain(next).tokens) << "turn " << turn;
    EXPECT_GE(result.cached_tokens, turn == 0 ? 0 : std::ssize(next.prompt_tokens) - 6) << "turn " << turn;
    next.prompt_tokens.insert(next.prompt_tokens.end(), result.tokens.begin(), result.tokens.end());
    for (const TokenId token : {40, 41, 42, 43}) next.prompt_tokens.push_back(token);
  }
}

/// Templates take back what they put behind a prompt, and thoughts out of answers.
TEST_P(LosslessStates, ATurnThatGoesOnBeforeAPromptsEndIsNotReadAnew) {
  if (!keeps_states_) GTEST_SKIP() << "it keeps no states";
  Session session(*engine_);
  Request next = request(600, 0, 3, "ngram:n-max=4");
  session.submit(next).wait();
  next.prompt_tokens.resize(590);
  for (const TokenId token : {40, 41, 42, 43}) next.prompt_tokens.push_back(token);
  const Result result = session.submit(next).wait();
  EXPECT_EQ(result.tokens, plain(next).tokens);
  EXPECT_GE(result.cached_tokens, 590 - 16 - kPageTokens);
}

TEST_P(LosslessStates, ACommonBeginningIsReadOnce) {
  Session session(*engine_);
  session.submit(request(400, 300, 2, own_plan())).wait();
  for (std::uint64_t seed = 5; seed < 9; ++seed) {
    const Request other = request(360, 300, seed, own_plan());
    const Result result = session.submit(other).wait();
    EXPECT_EQ(result.tokens, plain(other).tokens);
    EXPECT_GT(result.cached_tokens, 0);
  }
}

TEST_P(LosslessStates, SavedTextsGoOnWithTheSameTokens) {
  const std::string path = (folder_.path() / "text").string();
  Request next = request(100, 0, 4, own_plan());
  const auto told = [](auto ask) {
    std::promise<TextFile> promise;
    ask([&](const TextFile& file) { promise.set_value(file); });
    return testing_support::awaited(promise.get_future());
  };
  std::int64_t saved = 0;
  {
    Session session(*engine_);
    const Result result = session.submit(next).wait();
    next.prompt_tokens.insert(next.prompt_tokens.end(), result.tokens.begin(), result.tokens.end());
    const TextFile file = told([&](auto tell) { session.save_text(next.prompt_tokens, path, tell); });
    EXPECT_EQ(file.error, "");
    saved = file.tokens;
  }
  next.prompt_tokens.push_back(44);
  Session session(*engine_);
  const TextFile file = told([&](auto tell) { session.load_text(path, tell); });
  EXPECT_EQ(file.error, "");
  const Result result = session.submit(next).wait();
  EXPECT_EQ(result.tokens, plain(next).tokens);
  EXPECT_GE(result.cached_tokens, saved - 2);
}

INSTANTIATE_TEST_SUITE_P(Models, LosslessStates, testing::ValuesIn(kModels),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace augur
