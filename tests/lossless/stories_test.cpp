// The promise, on a small real model: whatever speculates, the tokens are those of plain decoding.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>

#include "draft/lookup/datastore.h"
#include "draft/ngram_drafter.h"
#include "policy/static_tree_policy.h"
#include "support/generation.h"
#include "support/stories_source.h"
#include "tree/tree_shapes.h"

namespace augur {
namespace {

using testing_support::generate;
using testing_support::Generated;
using testing_support::GenerateOptions;
using testing_support::one;
using testing_support::SpeculatorFactory;
using testing_support::Stories;
using testing_support::TemporaryFolder;

std::vector<std::vector<TokenId>> prompts(const Stories& stories) {
  std::vector<std::vector<TokenId>> out{{*stories.tokenizer->bos}};
  for (const char* text :
       {"Once upon a time", "Lily and Tom went to the park. Tom saw a big", "One day,",
        "\"I am a dog\", said the cat. \"I am a cat\", said the", "The end. The end. The end."}) {
    out.push_back(stories.prompt(text));
  }
  return out;
}

struct NamedSampling {
  const char* name;
  SamplingOptions params;
};

std::vector<NamedSampling> samplings() {
  return {{"greedy", {}},
          {"temperature 0.8, top-p 0.95", {.temperature = 0.8f, .top_p = 0.95f, .seed = 7}},
          {"temperature 1 with penalties",
           {.temperature = 1.0f,
            .min_p = 0.02f,
            .repetition_penalty = 1.1f,
            .presence_penalty = 0.2f,
            .frequency_penalty = 0.1f,
            .penalty_window = 32,
            .seed = 11}}};
}

constexpr unsigned kMostFuzz = 150;  ///< nodes of a tree

/// Half-right trees of any shape: nodes anywhere, often the true continuation, often nonsense.
class FuzzDrafter final : public Drafter {
 public:
  FuzzDrafter(unsigned seed, const std::vector<std::vector<TokenId>>& texts) : random_(seed), texts_(texts) {}
  std::string_view name() const override { return "fuzz"; }
  DrafterTraits traits() const override { return {.one_shot = true, .branching = true}; }
  void reset() override { text_.clear(); }
  void sync(const AcceptedRows& rows) override {
    text_.resize(static_cast<std::size_t>(rows.first_position));
    text_.insert(text_.end(), rows.tokens.begin(), rows.tokens.end());
    text_.push_back(rows.next);
  }
  void expand(DraftTree& tree, std::span<const std::int32_t>, const ExpandOptions& options) override {
    const auto truth = std::find_if(texts_.begin(), texts_.end(), [&](const std::vector<TokenId>& t) {
      return t.size() >= text_.size() && std::equal(text_.begin(), text_.end(), t.begin());
    });
    std::int32_t right = 0;  // end of the branch that is right so far
    const unsigned nodes = random_() % (random_() % 4 == 0 ? kMostFuzz : 20u);
    for (unsigned i = 0; i < nodes; ++i) {
      const auto depth = static_cast<std::size_t>(tree.depths()[static_cast<std::size_t>(right)]);
      if (truth != texts_.end() && random_() % 2 == 0 && text_.size() + depth < truth->size()) {
        right = tree.add(right, (*truth)[text_.size() + depth], -1.0f, options.proposer);
      } else {
        const auto parent = static_cast<std::int32_t>(random_() % static_cast<unsigned>(tree.size()));
        tree.add(parent, static_cast<TokenId>(random_() % 512), -1.0f, options.proposer);
      }
    }
  }

 private:
  std::mt19937 random_;
  const std::vector<std::vector<TokenId>>& texts_;  ///< what plain decoding wrote, prompts included
  std::vector<TokenId> text_;
};

/// Keeps any subset of the nodes that is closed under parents.
class FuzzPolicy final : public TreePolicy {
 public:
  explicit FuzzPolicy(unsigned seed) : random_(seed) {}
  void begin(const RoundInfo&) override { started_ = false; }
  void next_frontier(const DraftTree&, std::vector<std::int32_t>& out) override {
    out.clear();
    if (!started_) out.push_back(0);
    started_ = true;
  }
  int width() const override { return int{kMostFuzz}; }
  void prune(DraftTree& tree) override {
    std::vector<std::int32_t> keep{0};
    std::vector<bool> kept(static_cast<std::size_t>(tree.size()));
    kept[0] = true;
    for (std::int32_t n = 1; n < tree.size(); ++n) {
      const auto parent = static_cast<std::size_t>(tree.parents()[static_cast<std::size_t>(n)]);
      if (kept[parent] && random_() % 10 != 0) {
        kept[static_cast<std::size_t>(n)] = true;
        keep.push_back(n);
      }
    }
    tree.select(keep);
  }

 private:
  std::mt19937 random_;
  bool started_ = false;
};

class Lossless : public testing::TestWithParam<Isa> {
 protected:
  std::unique_ptr<DrafterModel> load_draft(const Checkpoint& head) {
    return find_drafter_type("draft").load(testing_support::stories_source(stories_, &head));
  }

  std::unique_ptr<DrafterModel> load(const char* type, const std::string& datastore = {}) {
    DrafterSource source = testing_support::stories_source(stories_);
    source.datastore = datastore;
    return find_drafter_type(type).load(source);
  }

  void expect_lossless(const char* what, const SpeculatorFactory& speculators, double least_accepted,
                       int tree_nodes = 0) {
    for (const NamedSampling& sampling : samplings()) {
      const Generated plain =
          generate(*stories_.model, prompts_, {.sampling = sampling.params, .tokens = tokens_});
      for (const std::size_t parallel : {std::size_t{1}, std::size_t{4}}) {
        SCOPED_TRACE(fmt::format("{}, {}, {} at once", what, sampling.name, parallel));
        const Generated fast = generate(*stories_.model, prompts_,
                                        {.sampling = sampling.params,
                                         .tokens = tokens_,
                                         .parallel = parallel,
                                         .speculators = speculators,
                                         .tree_nodes = tree_nodes});
        ASSERT_EQ(fast.tokens, plain.tokens);
        EXPECT_GT(fast.total.drafted_tokens, 0);
        EXPECT_GE(fast.total.mean_accepted_length, greedy(sampling.params) ? least_accepted : 1.0);
      }
    }
  }

  Stories stories_{GetParam()};
  std::vector<std::vector<TokenId>> prompts_ = prompts(stories_);
  std::int64_t tokens_ = GetParam() == Isa::Portable ? 20 : 60;  // the reference is slow
};

TEST_P(Lossless, Ngram) {
  expect_lossless(
      "ngram",
      [] {
        return one(std::make_unique<NgramDrafter>(1, 3),
                   std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 8}));
      },
      1.1);
}

TEST_P(Lossless, DraftModel) {
  // The model itself is always right at temperature 0, a disturbed copy sometimes.
  TemporaryFolder folder;
  testing_support::write_disturbed_stories(folder.path(), 0.15f);
  const Checkpoint same = Checkpoint::open(testing_support::stories_path());
  const Checkpoint disturbed = Checkpoint::open(folder.path());
  struct Case {
    const char* name;
    const Checkpoint& head;
    double chain;
    double tree;
  };
  for (const Case& c : {Case{"same", same, 4.5, 4.5}, Case{"disturbed", disturbed, 1.3, 1.6}}) {
    const auto shared = load_draft(c.head);
    expect_lossless(
        fmt::format("{} model, chain", c.name).c_str(),
        [&] {
          return one(shared->make({.context = 512}),
                     std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 5, .p_min = 0.05}));
        },
        c.chain);
    expect_lossless(
        fmt::format("{} model, tree", c.name).c_str(),
        [&] {
          return one(shared->make({.context = 512}),
                     std::make_unique<Eagle2Policy>(Eagle2Policy::Options{4, 5, 24}));
        },
        c.tree);
    expect_lossless(
        fmt::format("{} model after n-grams", c.name).c_str(),
        [&] {
          auto speculators = one(std::make_unique<NgramDrafter>(2, 3),
                                 std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 6}));
          speculators.push_back({shared->make({.context = 512}),
                                 std::make_unique<Eagle2Policy>(Eagle2Policy::Options{3, 3, 12})});
          return speculators;
        },
        1.3);
  }
}

/// Several drafters, one tree: whoever proposed the accepted path, each follows the text.
TEST_P(Lossless, SeveralDraftersInOneTree) {
  TemporaryFolder folder;
  testing_support::write_disturbed_stories(folder.path(), 0.15f);
  const Checkpoint disturbed = Checkpoint::open(folder.path());
  const auto draft = load_draft(disturbed);
  const auto layerskip = load("layerskip");
  const auto suffix = load("suffix");
  const auto ngram = load("ngram");
  const DrafterSettings settings{.context = 512};
  const auto tree = [](int topk, int size) {
    return std::make_unique<Eagle2Policy>(Eagle2Policy::Options{topk, 4, size});
  };
  const auto chain = [] { return std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 5}); };
  expect_lossless(
      "draft and ngram",
      [&] {
        auto speculators = one(draft->make(settings), tree(3, 16));
        speculators.push_back({ngram->make(settings), chain()});
        return speculators;
      },
      1.7, 15);
  expect_lossless(
      "suffix and draft, chains",
      [&] {
        auto speculators = one(suffix->make(settings), chain());
        speculators.push_back({draft->make(settings), chain()});
        return speculators;
      },
      1.5, 0);
  expect_lossless(
      "ngram, layerskip and draft",
      [&] {
        auto speculators = one(ngram->make(settings), chain());
        speculators.push_back({layerskip->make(settings), tree(3, 12)});
        speculators.push_back({draft->make(settings), tree(4, 20)});
        return speculators;
      },
      1.7, 24);
}

/// What drafting ran of the target is not run again, with the same bits: for early exits anywhere, trees and
/// chains, alone or beside sequences that have other exits, or none.
TEST_P(Lossless, EarlyExitsReuseTheirLayers) {
  const auto layerskip = load("layerskip");
  const int layers = stories_.model->config().layers;
  for (const bool tree : {false, true}) {
    int next = 0;
    expect_lossless(
        tree ? "layerskip, trees" : "layerskip, chains",
        [&]() -> std::vector<Speculator> {
          const int exit = next++ % layers;  // 0: plain
          if (exit == 0) return {};
          std::unique_ptr<TreePolicy> policy;
          if (tree) {
            policy = std::make_unique<Eagle2Policy>(Eagle2Policy::Options{3, 4, 14});
          } else {
            policy = std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 4});
          }
          return one(layerskip->make({.exit_layer = exit, .context = 512}), std::move(policy));
        },
        1.0);
  }
}

/// Retrieval from a datastore that holds what greedy decoding writes, and from one of noise.
TEST_P(Lossless, Retrieval) {
  TemporaryFolder folder;
  const Generated plain = generate(*stories_.model, prompts_, {.tokens = tokens_});
  std::mt19937 random(3);
  for (const bool right : {true, false}) {
    DatastoreBuilder builder(*stories_.tokenizer);
    for (std::size_t i = 0; i < prompts_.size(); ++i) {
      std::vector<TokenId> text = prompts_[i];
      text.insert(text.end(), plain.tokens[i].begin(), plain.tokens[i].end());
      if (!right) {
        for (TokenId& token : text) token = random() % 2 == 0 ? token : static_cast<TokenId>(random() % 512);
      }
      builder.add(text);
    }
    const std::string file = (folder.path() / (right ? "right" : "noise")).string();
    builder.write(file);
    const auto suffix = load("suffix", file);
    expect_lossless(
        right ? "its own text" : "noise",
        [&] {
          return one(suffix->make({.context = 512}),
                     std::make_unique<Eagle2Policy>(Eagle2Policy::Options{4, 4, 24}));
        },
        right ? 4.0 : 1.0);
  }
}

TEST_P(Lossless, FixedTrees) {
  const Checkpoint same = Checkpoint::open(testing_support::stories_path());
  const auto shared = load_draft(same);
  for (const char* name : {"mc_sim_7b_63", "eagle_mc_sim_7b_63"}) {
    expect_lossless(
        name,
        [&] {
          return one(shared->make({.context = 512}),
                     std::make_unique<StaticTreePolicy>(load_tree_paths(name)));
        },
        3.5);
  }
}

TEST_P(Lossless, RandomTreesOfAnyShape) {
  for (const NamedSampling& sampling : samplings()) {
    const Generated plain = generate(*stories_.model, prompts_, {.sampling = sampling.params, .tokens = 80});
    std::vector<std::vector<TokenId>> texts = prompts_;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      texts[i].insert(texts[i].end(), plain.tokens[i].begin(), plain.tokens[i].end());
    }
    for (unsigned seed = 0; seed < 3; ++seed) {
      unsigned next = seed * 100;
      const Generated fast = generate(
          *stories_.model, prompts_,
          {.sampling = sampling.params, .tokens = 80, .parallel = 1 + seed * 2, .speculators = [&] {
             ++next;
             return one(std::make_unique<FuzzDrafter>(next, texts), std::make_unique<FuzzPolicy>(next));
           }});
      ASSERT_EQ(fast.tokens, plain.tokens) << sampling.name << ", seed " << seed;
      EXPECT_GT(fast.total.mean_accepted_length, 1.5);
    }
  }
}

/// Rejection sampling has the law of plain decoding, not its bytes; greedily it has the bytes too.
TEST_P(Lossless, RejectionIsExactWhenGreedy) {
  const Checkpoint same = Checkpoint::open(testing_support::stories_path());
  const auto shared = load_draft(same);
  const Generated plain = generate(*stories_.model, prompts_, {});
  for (const bool tree : {false, true}) {
    const SpeculatorFactory speculators = [&] {
      std::unique_ptr<TreePolicy> policy;
      if (tree) {
        policy = std::make_unique<Eagle2Policy>(Eagle2Policy::Options{3, 4, 16});
      } else {
        policy = std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 4});
      }
      return one(shared->make({.context = 512}), std::move(policy));
    };
    GenerateOptions options{.speculators = speculators, .verification = Verification::Rejection};
    EXPECT_EQ(generate(*stories_.model, prompts_, options).tokens, plain.tokens);
    options.sampling = {.temperature = 1.0f, .seed = 3};
    const Generated sampled = generate(*stories_.model, prompts_, options);
    // The drafter's law is the target's: nearly everything that was drawn first is accepted.
    EXPECT_GT(sampled.total.mean_accepted_length, tree ? 3.0 : 4.5);
    EXPECT_EQ(generate(*stories_.model, prompts_, options).tokens, sampled.tokens) << "repeatable";
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, Lossless, testing::ValuesIn(supported_isas()),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace
}  // namespace augur
