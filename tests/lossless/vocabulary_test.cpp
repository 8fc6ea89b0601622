// The promise over shortlists of the vocabulary: whatever a drafter's head leaves out, the tokens stay those
// of plain decoding.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/drafter_cases.h"
#include "support/error_of.h"
#include "support/generation.h"
#include "support/stories_source.h"
#include "support/vocabulary_parts.h"
#include "vocab/vocabulary_choice.h"

namespace augur {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing_support::DrafterCase;
using testing_support::error_of;
using testing_support::generate;
using testing_support::Generated;
using testing_support::golden_head_path;
using testing_support::GoldenTarget;
using testing_support::one;
using testing_support::some_clusters;
using testing_support::some_frequencies;
using testing_support::Stories;
using testing_support::TemporaryFolder;
using testing_support::TinyTarget;

/// The parts of vocabulary choices in a folder of their own.
struct Parts {
  Parts(std::int32_t vocab, std::int64_t width, std::initializer_list<RouterInput> inputs) {
    write_token_order(folder.path() / "frequencies", some_frequencies(vocab), {});
    for (const RouterInput input : inputs) some_clusters(vocab, 12, input, width).write(clusters(input), {});
  }
  std::filesystem::path clusters(RouterInput input) const {
    return folder.path() / (input == RouterInput::State ? "by_state" : "by_previous");
  }
  std::string list(const char* kind, const char* size) const {
    return fmt::format("{}:{}{}", kind, (folder.path() / "frequencies").string(), size);
  }
  std::string routed(RouterInput input, const char* count) const {
    return fmt::format("dynaspec:{}{}", clusters(input).string(), count);
  }
  TemporaryFolder folder;
};

std::unique_ptr<TreePolicy> shape(bool tree) {
  if (tree) return std::make_unique<Eagle2Policy>(Eagle2Policy::Options{4, 4, 20});
  return std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 4});
}

/// Every registered drafter with a projection that a vocabulary may shorten.
std::vector<DrafterCase> projecting_cases() {
  std::vector<DrafterCase> cases = testing_support::tiny_drafter_cases();
  std::erase_if(cases, [](const DrafterCase& c) { return !find_drafter_type(c.type).projects; });
  return cases;
}

class LosslessVocabularies : public testing::TestWithParam<DrafterCase> {};

TEST_P(LosslessVocabularies, TokensAreThoseOfPlainDecoding) {
  TinyTarget target(GetParam());
  const ModelConfig& config = target.model().config();
  const Parts parts(config.vocab, config.hidden, {RouterInput::State, RouterInput::Previous});
  // Small enough to leave much out.
  std::vector<std::string> specs = {parts.list("frspec", ":70"), parts.list("pafr", ":70"),
                                    parts.list("hot", ":50")};
  const std::size_t lists = specs.size();
  for (const RouterInput input : {RouterInput::State, RouterInput::Previous}) {
    for (const char* count : {"", ":3"}) specs.push_back(parts.routed(input, count));
  }
  std::size_t loaded = 0;
  for (const std::string& spec : specs) {
    const VocabularyChoice choice(VocabularySpec::parse(spec), target.model().fingerprint(), {});
    const std::string refusal = error_of([&] {
      target.load(&choice);
      target.make();
    });
    if (refusal != "no error") {
      // A router that reads what the drafter lacks, or states of another width.
      EXPECT_THAT(refusal, AnyOf(HasSubstr("router_input"), HasSubstr("use frspec, pafr or hot"),
                                 HasSubstr("made for a drafter with states of 64")))
          << spec;
      continue;
    }
    ++loaded;
    for (const SamplingOptions& sampling :
         {SamplingOptions{}, SamplingOptions{.temperature = 0.8f, .repetition_penalty = 1.1f, .seed = 5}}) {
      const Generated plain =
          generate(target.model(), target.prompts(), {.sampling = sampling, .tokens = 30});
      for (const std::size_t parallel : {std::size_t{1}, std::size_t{3}}) {
        SCOPED_TRACE(fmt::format("{}, temperature {}, {} at once", spec, sampling.temperature, parallel));
        const Generated fast =
            generate(target.model(), target.prompts(),
                     {.sampling = sampling, .tokens = 30, .parallel = parallel, .speculators = [&] {
                        return one(target.make(), shape(parallel == 3));
                      }});
        ASSERT_EQ(fast.tokens, plain.tokens);
        EXPECT_GT(fast.total.drafted_tokens, 0);
      }
    }
  }
  EXPECT_GE(loaded, lists);
}

INSTANTIATE_TEST_SUITE_P(Registered, LosslessVocabularies, testing::ValuesIn(projecting_cases()),
                         testing_support::case_name);

TEST(VocabularyOfPlaceholders, IsNotRouted) {
  const Checkpoint head = Checkpoint::open(golden_head_path("peagle"));
  GoldenTarget target(WeightFormat::BF16);
  const ModelConfig& config = target.model->config();
  const Parts parts(config.vocab, config.hidden, {RouterInput::State});
  const VocabularyChoice clusters(VocabularySpec::parse(parts.routed(RouterInput::State, "")),
                                  target.model->fingerprint(), {});
  EXPECT_THAT(error_of([&] { target.load("eagle3", head, &clusters); }),
              HasSubstr("use frspec, pafr or hot"));
}

TEST(VocabularyOfHeads, RefusesRoutersThatReadWhatTheDrafterLacks) {
  const Checkpoint head = Checkpoint::open(golden_head_path("medusa"));
  GoldenTarget target(WeightFormat::BF16);
  const ModelConfig& config = target.model->config();
  const Parts parts(config.vocab, config.hidden, {RouterInput::Previous});
  const VocabularyChoice clusters(VocabularySpec::parse(parts.routed(RouterInput::Previous, "")),
                                  target.model->fingerprint(), {});
  EXPECT_THAT(error_of([&] { target.load("medusa", head, &clusters); }), HasSubstr("router_input"));
}

/// With a drafter that is right, what a list has is accepted and what it lacks is not.
TEST(VocabularyOfDraftModel, AcceptsWhatItsListHas) {
  Stories stories;
  const Checkpoint head = Checkpoint::open(testing_support::stories_path());
  const std::vector<std::vector<TokenId>> prompts{stories.prompt("Once upon a time"),
                                                  stories.prompt("One day,")};
  const Parts parts(512, stories.model->config().hidden, {RouterInput::State});
  const SamplingOptions samplings[] = {{}, {.temperature = 0.8f, .seed = 5}};
  for (const SamplingOptions& sampling : samplings) {
    const Generated plain = generate(*stories.model, prompts, {.sampling = sampling, .tokens = 60});
    double accepted_length[2] = {};
    for (const bool whole : {false, true}) {
      for (const char* kind : {"frspec", "pafr", "hot", "dynaspec"}) {
        const bool routed = std::string_view(kind) == "dynaspec";
        const std::string spec = routed ? parts.routed(RouterInput::State, whole ? ":12" : ":4")
                                        : parts.list(kind, whole ? ":512" : ":200");
        SCOPED_TRACE(spec);
        const VocabularyChoice choice(VocabularySpec::parse(spec), stories.model->fingerprint(), {});
        const auto shared =
            find_drafter_type("draft").load(testing_support::stories_source(stories, &head, &choice));
        const Generated fast =
            generate(*stories.model, prompts, {.sampling = sampling, .tokens = 60, .speculators = [&] {
                                                 return one(shared->make({.context = 512}), shape(false));
                                               }});
        EXPECT_EQ(fast.tokens, plain.tokens);
        const double length = fast.total.mean_accepted_length;
        if (whole && std::string_view(kind) != "pafr") {
          EXPECT_GT(length, greedy(sampling) ? 4.5 : 3.0);
        }
        accepted_length[whole] += length;
      }
    }
    EXPECT_LT(accepted_length[0], accepted_length[1]);
  }
}

}  // namespace
}  // namespace augur
