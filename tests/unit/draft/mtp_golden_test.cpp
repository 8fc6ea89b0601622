// Qwen3.5's own layer that drafts, against an independent implementation of its formulas in float64: see
// tests/golden/make_mtp_golden.py. Everything is computed from the files: the trunk's hidden states, too.
#include <gtest/gtest.h>

#include "draft/detect.h"
#include "files/gguf/gguf.h"
#include "files/gguf/writer.h"
#include "model/prefill.h"
#include "support/golden_head.h"
#include "support/golden_models.h"
#include "support/mtp_models.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing_support::golden_model_path;
using testing_support::golden_values;
using testing_support::mtp_model_path;
using testing_support::NoTokenizer;

constexpr float kTolerance = 1e-4f;

/// A target, its text, and a drafter with the layer that `head` has, the target's own files or others.
class MtpRun {
 public:
  MtpRun(const std::filesystem::path& path, const std::filesystem::path& head, const WeightStore& expected,
         Isa isa)
      : expected_(expected),
        backend_(2, false, isa),
        head_(Checkpoint::open(head)),
        model_(Model::load(backend_, Checkpoint::open(path), {.weights = WeightFormat::F32, .context = 64})),
        drafters_(find_drafter_type(detect_drafter_type(head_, path))
                      .load({.backend = backend_,
                             .target = *model_,
                             .tokenizer = tokenizer_,
                             .target_path = path.string(),
                             .head = &head_,
                             .context = model_->context()})),
        drafter_(drafters_->make({.context = model_->context()})),
        cache_(model_->make_cache()) {}

  /// The target reads tokens, of which the drafter is told, and chooses the next. Its hidden states are
  /// compared with rows of `hidden` from the position on.
  void read(const std::vector<TokenId>& tokens, TokenId next, const std::string& hidden) {
    std::vector<float> features;
    prefill(*model_, tokens, cache_, {.rows_done = [&](std::int64_t, std::span<const float> rows) {
      features.insert(features.end(), rows.begin(), rows.end());
    }});
    std::vector<float> normed(features.size());
    model_->final_norm(features.data(), static_cast<int>(tokens.size()), normed.data());
    const std::vector<float> all = golden_values(expected_, hidden);
    const std::size_t first = static_cast<std::size_t>(position_) * width();
    ASSERT_GE(all.size(), first + normed.size());
    for (std::size_t i = 0; i < normed.size(); ++i) note(normed[i], all[first + i], "the target's states");
    drafter_->sync(
        {.tokens = tokens, .first_position = position_, .features = features.data(), .next = next});
    position_ += std::ssize(tokens);
    tree_.reset(next, position_);
  }
  /// The newest token again, without children.
  void plant() { tree_.reset(tree_.tokens()[0], position_); }

  /// Drafts every child of the nodes at once.
  void expand(const std::vector<std::int32_t>& frontier) {
    const int vocab = model_->config().vocab;
    drafter_->expand(
        tree_, frontier,
        {.top_k = vocab, .max_nodes = vocab * static_cast<int>(frontier.size()), .wants = {.hidden = true}});
  }
  std::int32_t child(std::int32_t node, TokenId token) const { return tree_.find_child(node, token); }

  /// Compares what an expanded node has with row `row` of tensors `name`.logits and `name`.hidden.
  void compare(std::int32_t node, const std::string& name, std::size_t row) {
    SCOPED_TRACE(name + " row " + std::to_string(row));
    const auto vocab = static_cast<std::size_t>(model_->config().vocab);
    const std::vector<float> logits = golden_values(expected_, name + ".logits");
    const std::vector<float> hidden = golden_values(expected_, name + ".hidden");
    ASSERT_GE(logits.size(), (row + 1) * vocab);
    const float* own = logits.data() + row * vocab;
    const float lse = log_sum_exp(own, static_cast<std::int64_t>(vocab));
    for (std::size_t token = 0; token < vocab; ++token) {
      const std::int32_t node_of_token = child(node, static_cast<TokenId>(token));
      ASSERT_GE(node_of_token, 0) << "token " << token;
      note(tree_.log_probs()[static_cast<std::size_t>(node_of_token)], own[token] - lse, "log-probabilities");
    }
    const std::span<const float> state = tree_.hidden(node);
    ASSERT_EQ(state.size(), width());
    for (std::size_t i = 0; i < width(); ++i) note(state[i], hidden[row * width() + i], "hidden states");
  }

  float worst() const { return worst_; }

 private:
  std::size_t width() const { return static_cast<std::size_t>(model_->config().hidden); }
  void note(float found, float wanted, const char* what) {
    const float apart = std::abs(found - wanted);
    if (!(apart <= kTolerance)) ADD_FAILURE() << what << ": " << found << ", expected " << wanted;
    worst_ = std::max(worst_, apart);
  }

  const WeightStore& expected_;
  Backend backend_;
  NoTokenizer tokenizer_;
  const Checkpoint head_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<DrafterModel> drafters_;
  std::unique_ptr<Drafter> drafter_;
  KvCache cache_;
  DraftTree tree_;
  std::int64_t position_ = 0;
  float worst_ = 0.0f;
};

struct Case {
  const char* folder;
  const char* file;  ///< in it; empty: the folder itself
};

class MtpGolden : public testing::TestWithParam<Case> {
 protected:
  MtpGolden()
      : folder_(mtp_model_path(GetParam().folder)),
        ids_(read_json(folder_ / "expected.json")),
        tensors_(open_safetensors(folder_ / "expected.safetensors")) {}

  std::filesystem::path model() const {
    const std::string file = GetParam().file;
    return file.empty() ? folder_ : folder_ / file;
  }
  static std::vector<TokenId> tokens(const nlohmann::json& list) { return list.get<std::vector<TokenId>>(); }

  /// The greedy chain below the root, which has been expanded by nobody.
  static void draft_chain(MtpRun& run, const nlohmann::json& chain, const std::string& name) {
    const std::vector<TokenId> fed = tokens(chain.at("tokens"));
    std::int32_t node = 0;
    for (std::size_t depth = 0; depth < fed.size(); ++depth) {
      if (depth > 0) node = run.child(node, fed[depth]);
      ASSERT_GE(node, 0);
      run.expand({node});
      run.compare(node, name, depth);
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  const std::filesystem::path folder_;
  const nlohmann::json ids_;
  std::unique_ptr<WeightStore> tensors_;
};

TEST_P(MtpGolden, ChainTreeAndTheRoundAfterAnAcceptedNode) {
  for (const Isa isa : supported_isas()) {
    SCOPED_TRACE(name(isa));
    MtpRun run(model(), model(), *tensors_, isa);
    const TokenId root = ids_["root"];
    run.read(tokens(ids_["prompt"]), root, "trunk.hidden");
    draft_chain(run, ids_["chain"], "chain");
    ASSERT_FALSE(HasFatalFailure());

    // From the same root, siblings of one level in one forward.
    run.plant();
    const nlohmann::json& tree = ids_["tree"];
    const std::vector<TokenId> fed = tokens(tree["tokens"]);
    const std::vector<int> parents = tree["parents"];
    const std::vector<int> depths = tree["depths"];
    std::vector<std::int32_t> node_of(fed.size(), 0);
    for (int depth = 0; depth <= depths.back(); ++depth) {
      std::vector<std::int32_t> frontier;
      std::vector<std::size_t> rows;
      for (std::size_t i = 0; i < fed.size(); ++i) {
        if (depths[i] != depth) continue;
        if (i > 0) node_of[i] = run.child(node_of[static_cast<std::size_t>(parents[i])], fed[i]);
        ASSERT_GE(node_of[i], 0);
        frontier.push_back(node_of[i]);
        rows.push_back(i);
      }
      run.expand(frontier);
      for (const std::size_t row : rows) run.compare(node_of[row], "tree", row);
      ASSERT_FALSE(HasFatalFailure());
    }

    const nlohmann::json& accepted = ids_["accepted"];
    run.read({root, fed[1]}, accepted["root"], "accepted.trunk.hidden");
    draft_chain(run, accepted["chain"], "accepted.chain");
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_GT(run.worst(), 0.0f);
    RecordProperty("worst_" + std::string(name(isa)), std::to_string(run.worst()));
  }
}

TEST_P(MtpGolden, RowsOfATextThatIsReadTokenByToken) {
  MtpRun run(model(), model(), *tensors_, supported_isas().back());
  const std::vector<TokenId> text = tokens(ids_["accepted"]["text"]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const TokenId next = i + 1 < text.size() ? text[i + 1] : ids_["accepted"]["root"].get<TokenId>();
    run.read({text[i]}, next, "accepted.trunk.hidden");
    run.expand({0});
    run.compare(0, "accepted.mtp", i);
    ASSERT_FALSE(HasFailure());
  }
}

/// What llama.cpp's converter writes with --mtp: the layer, and what of the model it is used with.
void write_layer_alone(const GgufFile& model, const std::filesystem::path& path, bool own_ends) {
  GgufMetadata metadata;
  for (const auto& [key, value] : model.metadata()) metadata.copy(key, value);
  std::vector<GgufWriter::Entry> entries;
  std::vector<std::span<const std::byte>> values;
  const auto add = [&](const GgufTensorInfo& info, const std::string& name) {
    const StoredTensor tensor = model.tensor(info);
    entries.push_back({.name = name, .dtype = tensor.dtype, .shape = tensor.shape});
    values.push_back(tensor.bytes);
  };
  for (const GgufTensorInfo& info : model.tensor_infos()) {
    if (!info.name.starts_with("blk.") || info.name.starts_with("blk.4.")) add(info, info.name);
  }
  if (own_ends) {  // which a layer may bring
    add(*model.find_tensor("token_embd.weight"), "blk.4.nextn.embed_tokens.weight");
    add(*model.find_tensor("output.weight"), "blk.4.nextn.shared_head_head.weight");
  }
  GgufWriter writer(path, metadata, entries);
  for (const auto bytes : values) writer.write(bytes);
  writer.finish();
}

TEST(MtpFile, TheLayerAloneDraftsForTheModel) {
  const std::filesystem::path folder = mtp_model_path("qwen3_5_mtp");
  const nlohmann::json ids = read_json(folder / "expected.json");
  const std::unique_ptr<WeightStore> tensors = open_safetensors(folder / "expected.safetensors");
  const testing_support::TemporaryFolder written;
  for (const bool own_ends : {false, true}) {
    const std::filesystem::path file = written.path() / (own_ends ? "own.gguf" : "mtp-model.gguf");
    write_layer_alone(GgufFile::open(folder / "model.gguf"), file, own_ends);
    EXPECT_EQ(detect_drafter_type(Checkpoint::open(file)), "mtp");
    for (const std::filesystem::path& target : {folder, folder / "model.gguf"}) {
      MtpRun run(target, file, *tensors, supported_isas().back());
      run.read(ids["prompt"], ids["root"], "trunk.hidden");
      run.expand({0});
      run.compare(0, "chain", 0);
    }
  }
}

/// Of models with experts there is no golden: their files of both kinds must draft alike.
TEST(MtpFile, LayersWithExpertsAreTheSameInFolderAndFile) {
  for (const char* name : {"qwen3_5_moe", "qwen3_5"}) {
    const std::filesystem::path paths[] = {golden_model_path(name), testing_support::golden_gguf_path(name)};
    std::vector<float> drafts[2];
    for (std::size_t i = 0; i < 2; ++i) {
      Backend backend(2, false);
      const NoTokenizer tokenizer;
      const Checkpoint files = Checkpoint::open(paths[i]);
      const auto model = Model::load(backend, files, {.weights = WeightFormat::F32, .context = 32});
      ASSERT_EQ(own_drafter_type(files), "mtp") << paths[i];
      const auto drafters = find_drafter_type("mtp").load({.backend = backend,
                                                           .target = *model,
                                                           .tokenizer = tokenizer,
                                                           .target_path = paths[i].string(),
                                                           .head = &files,
                                                           .context = 32});
      const auto drafter = drafters->make({.context = 32});
      std::vector<float> features;
      KvCache cache = model->make_cache();
      const std::vector<TokenId> text = {3, 14, 15, 9, 26, 5};
      prefill(*model, text, cache, {.rows_done = [&](std::int64_t, std::span<const float> rows) {
        features.insert(features.end(), rows.begin(), rows.end());
      }});
      drafter->sync({.tokens = text, .features = features.data(), .next = 35});
      DraftTree tree;
      tree.reset(35, std::ssize(text));
      for (std::int32_t node : {0, 1}) {
        const int vocab = model->config().vocab;
        drafter->expand(tree, {&node, 1}, {.top_k = vocab, .max_nodes = vocab});
        for (TokenId token = 0; token < vocab; ++token) {
          const std::int32_t child = tree.find_child(node, token);
          ASSERT_GE(child, 0);
          drafts[i].push_back(tree.log_probs()[static_cast<std::size_t>(child)]);
        }
      }
    }
    ASSERT_EQ(drafts[0].size(), drafts[1].size());
    for (std::size_t i = 0; i < drafts[0].size(); ++i) ASSERT_NEAR(drafts[0][i], drafts[1][i], 1e-4) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Qwen, MtpGolden,
                         testing::Values(Case{"qwen3_5_mtp", ""}, Case{"qwen3_5_mtp", "model.gguf"},
                                         Case{"qwen3_5_mtp_tied", ""},
                                         Case{"qwen3_5_mtp_tied", "model.gguf"}),
                         [](const auto& test) {
                           const bool folder = std::string(test.param.file).empty();
                           return std::string(test.param.folder) + (folder ? "_folder" : "_gguf");
                         });

}  // namespace
}  // namespace augur
