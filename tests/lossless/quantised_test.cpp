// The promise for quantised weights: the tokens of plain decoding, whatever speculates; and the same tokens
// on every instruction set.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "draft/ngram_drafter.h"
#include "support/generation.h"
#include "support/quantised_models.h"

namespace augur {
namespace {

using testing_support::generate;
using testing_support::Generated;
using testing_support::one;
using testing_support::SpeculatorFactory;
using testing_support::TemporaryFolder;

/// A file of the family, by what stands in it.
std::filesystem::path write_model(const std::filesystem::path& folder, const std::string& kind) {
  if (kind == "stories Q8_0") return testing_support::write_quantised_stories(folder, DType::Q8_0);
  if (kind == "stories Q4_0") return testing_support::write_quantised_stories(folder, DType::Q4_0);
  if (kind == "stories Q4_1") return testing_support::write_quantised_stories(folder, DType::Q4_1);
  testing_support::write_random_model(folder);
  ThreadPool pool(2);
  const std::filesystem::path path = folder / "random.gguf";
  const DType type = kind.starts_with("random Q8_0") ? DType::Q8_0 : DType::Q4_K;
  quantize_model(pool, Checkpoint::open(folder), path, {.type = type});
  const bool low = kind == "random low";
  if (kind != "random mixed" && !low) return path;
  testing_support::rewrite_gguf(path, folder / "mixed.gguf",
                                low ? testing_support::low_type : testing_support::mixed_type);
  return folder / "mixed.gguf";
}

class Quantised : public testing::TestWithParam<std::string> {
 protected:
  Quantised()
      : checkpoint_(Checkpoint::open(write_model(folder_.path(), GetParam()))),
        tokenizer_(checkpoint_.load_tokenizer()),
        device_(testing_support::test_device(backend_)),
        model_(Model::load(backend_, checkpoint_, {.kv = kv_format(), .device = device_.get()})) {
    for (const char* text : {"Once upon a time", "One day, Lily", "The end. The end. The", "A"}) {
      prompts_.push_back(tokenizer_->encode(text));
    }
  }

  /// One of the files with an 8-bit cache.
  static KvFormat kv_format() {
    return GetParam() == "random Q8_0, KV Q8_0" ? KvFormat::Q8_0 : KvFormat::Auto;
  }

  std::unique_ptr<DrafterModel> load(const char* type, const Checkpoint* head = nullptr,
                                     std::optional<WeightForm> form = std::nullopt) {
    return find_drafter_type(type).load({.backend = backend_,
                                         .target = *model_,
                                         .tokenizer = *tokenizer_,
                                         .target_path = "target",
                                         .head = head,
                                         .form = form,
                                         .context = 256});
  }

  void expect_lossless(const char* what, const SpeculatorFactory& speculators) {
    for (const SamplingOptions& sampling :
         {SamplingOptions{}, SamplingOptions{.temperature = 0.8f, .top_p = 0.95f, .seed = 7}}) {
      const Generated plain = generate(*model_, prompts_, {.sampling = sampling, .tokens = 40});
      for (const std::size_t parallel : {std::size_t{1}, std::size_t{3}}) {
        SCOPED_TRACE(fmt::format("{}, temperature {}, {} at once", what, sampling.temperature, parallel));
        const Generated fast =
            generate(*model_, prompts_,
                     {.sampling = sampling, .tokens = 40, .parallel = parallel, .speculators = speculators});
        ASSERT_EQ(fast.tokens, plain.tokens);
        EXPECT_GT(fast.total.drafted_tokens, 0);
      }
    }
  }

  TemporaryFolder folder_;
  Backend backend_{2};
  Checkpoint checkpoint_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<Device> device_;  ///< null: the host
  std::unique_ptr<Model> model_;
  std::vector<std::vector<TokenId>> prompts_;
};

TEST_P(Quantised, SpeculationGivesTheTokensOfPlainDecoding) {
  const auto draft = load("draft", &checkpoint_);
  const auto layerskip = load("layerskip");
  const auto tree = [] { return std::make_unique<Eagle2Policy>(Eagle2Policy::Options{4, 5, 24}); };
  expect_lossless("trees of a draft model", [&] { return one(draft->make({.context = 256}), tree()); });
  const auto small = load("draft", &checkpoint_, WeightForm{.quantize = DType::Q4_1});
  expect_lossless("the same in 4 bits", [&] { return one(small->make({.context = 256}), tree()); });
  expect_lossless("early exits",
                  [&] { return one(layerskip->make({.exit_layer = 1, .context = 256}), tree()); });
  expect_lossless("n-grams and a draft model", [&] {
    auto speculators = one(std::make_unique<NgramDrafter>(1, 3),
                           std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 8}));
    speculators.push_back({draft->make({.context = 256}), tree()});
    return speculators;
  });
}

INSTANTIATE_TEST_SUITE_P(Files, Quantised,
                         testing::Values("stories Q8_0", "stories Q4_0", "stories Q4_1", "random Q8_0",
                                         "random Q8_0, KV Q8_0", "random Q4_K", "random mixed", "random low"),
                         [](const auto& file) {
                           std::string name = file.param;
                           std::erase(name, ',');
                           for (char& c : name) c = c == ' ' ? '_' : c;
                           return name;
                         });

/// Hidden states and logits of a text, as they lie in memory.
std::vector<float> results(const Checkpoint& checkpoint, Isa isa, int threads, KvFormat kv) {
  Backend backend(threads, false, isa);
  const std::unique_ptr<Device> device = testing_support::test_device(backend);
  const auto model = Model::load(backend, checkpoint, {.kv = kv, .device = device.get()});
  std::vector<TokenId> text;
  for (int i = 0; i < 45; ++i) text.push_back(static_cast<TokenId>(3 + (i * 97) % 500));
  KvCache cache = model->make_cache();
  std::vector<float> out;
  PrefillOptions options;
  options.chunk = 17;
  options.rows_done = [&](std::int64_t, std::span<const float> hidden) {
    out.insert(out.end(), hidden.begin(), hidden.end());
    const std::int64_t stride = (model->config().vocab + 15) / 16 * 16;
    const auto count = static_cast<int>(std::ssize(hidden) / model->config().hidden);
    const std::vector<float> rows(hidden.begin(), hidden.end());
    Buffer<float> logits(static_cast<std::size_t>(count * stride));
    model->logits_of(rows.data(), count, false, logits.data(), stride);
    out.insert(out.end(), logits.data(), logits.data() + count * stride);
  };
  prefill(*model, text, cache, options);
  return out;
}

TEST(QuantisedForward, HasTheSameBitsOnEveryInstructionSetAndForAnyNumberOfThreads) {
  for (const char* kind : {"random Q8_0", "random Q4_K", "random low"}) {
    const KvFormat kv = std::string_view(kind) == "random Q8_0" ? KvFormat::Q8_0 : KvFormat::BF16;
    TemporaryFolder folder;
    const Checkpoint checkpoint = Checkpoint::open(write_model(folder.path(), kind));
    const std::vector<float> reference = results(checkpoint, Isa::Portable, 1, kv);
    for (const float v : reference) ASSERT_TRUE(std::isfinite(v));
    for (const Isa isa : supported_isas()) {
      for (const int threads : {1, 2, 3}) {
        const std::vector<float> got = results(checkpoint, isa, threads, kv);
        ASSERT_EQ(got.size(), reference.size());
        EXPECT_EQ(std::memcmp(got.data(), reference.data(), got.size() * sizeof(float)), 0)
            << kind << ", " << name(isa) << ", " << threads << " threads";
      }
    }
  }
}

}  // namespace
}  // namespace augur
