#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>

#include "cli/program.h"
#include "support/sanitized.h"
#include "support/stories_answer.h"

namespace augur::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_support::kStoriesKnownAnswer;

std::vector<std::string> generate(std::vector<std::string> more) {
  std::vector<std::string> arguments = {"generate", "-m", stories260k(), "-t", "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

json parse(const Outcome& outcome) {
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return json::parse(outcome.out, nullptr, false);
}

std::set<std::string> keys(const json& object) {
  std::set<std::string> result;
  for (const auto& [key, value] : object.items()) result.insert(key);
  return result;
}

TEST(Generate, StreamsTheKnownAnswerPlainlyAndWithEveryDrafter) {
  const std::vector<std::vector<std::string>> drafters = {
      {},
      {"--spec-type", "ngram"},
      {"-md", stories260k()},
      {"-md", stories260k(), "--spec-tree-topk", "3", "--spec-tree-depth", "4", "--spec-tree-size", "12"},
      {"-md", stories260k(), "--spec-type", "ngram,draft"},
  };
  for (const auto& drafter : drafters) {
    std::vector<std::string> arguments = generate({"-p", "", "-n", "200"});
    arguments.insert(arguments.end(), drafter.begin(), drafter.end());
    const Outcome outcome = run_augur(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, kStoriesKnownAnswer);
    EXPECT_THAT(outcome.err, HasSubstr("tokens/s"));
  }
}

TEST(Generate, JsonHasTheDocumentedKeys) {
  const std::set<std::string> top = {"text",          "tokens",     "prompt_tokens",
                                     "prompt_ms",     "decode_ms",  "tokens_per_second",
                                     "finish_reason", "speculation"};
  const std::set<std::string> speculation = {"type",
                                             "calls",
                                             "verified_tokens",
                                             "drafted_tokens",
                                             "accepted_tokens",
                                             "mean_accepted_length",
                                             "accepted_per_position",
                                             "draft_ms",
                                             "verify_ms",
                                             "other_ms"};
  const json plain = parse(run_augur(generate({"-p", "Once upon", "-n", "20", "--json"})));
  EXPECT_EQ(keys(plain), top);
  EXPECT_EQ(keys(plain["speculation"]), speculation);
  EXPECT_EQ(plain["speculation"]["type"], "none");
  EXPECT_EQ(plain["speculation"]["mean_accepted_length"], 1.0);
  EXPECT_EQ(plain["tokens"].size(), 20u);
  EXPECT_EQ(plain["finish_reason"], "length");

  const json drafted = parse(run_augur(
      generate({"-p", "Once upon", "-n", "20", "--json", "-md", stories260k(), "--spec-draft-n-max", "4"})));
  EXPECT_EQ(keys(drafted["speculation"]), speculation);
  EXPECT_EQ(drafted["speculation"]["type"], "draft");
  EXPECT_EQ(drafted["tokens"], plain["tokens"]);
  // Its own draft model agrees with it everywhere: 4 drafted tokens and its own in every call.
  EXPECT_GT(drafted["speculation"]["mean_accepted_length"], 3.0);
  EXPECT_LT(drafted["speculation"]["calls"], plain["speculation"]["calls"]);
}

TEST(Generate, CostsDecideHowMuchIsDraftedUnlessAShapeIsAskedFor) {
  namespace fs = std::filesystem;
  const fs::path cache = temporary_file("cache");
  const auto measures = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = generate({"-p", "Once upon", "-n", "20"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    fs::remove_all(cache);
    const Outcome outcome = run_augur(arguments, {.environment = {"XDG_CACHE_HOME=" + cache.string()}});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return fs::exists(cache / "augur" / "costs");
  };
  EXPECT_TRUE(measures({"-md", stories260k()}));
  EXPECT_TRUE(measures({"--spec-type", "ngram"}));
  EXPECT_FALSE(measures({}));
  EXPECT_FALSE(measures({"-md", stories260k(), "--spec-draft-n-max", "4"}));
  EXPECT_FALSE(measures({"-md", stories260k(), "--spec-tree-size", "8"}));
  EXPECT_FALSE(measures({"-md", stories260k(), "--spec-policy", "eagle2"}));
}

TEST(Generate, AutoTakesNoShape) {
  const std::vector<std::vector<std::string>> shapes = {{"--spec-tree-topk", "4"},
                                                        {"--spec-draft-n-max", "4"},
                                                        {"--spec-draft-p-min", "0.1"},
                                                        {"--spec-tree", "mc_sim_7b_63"}};
  for (const std::vector<std::string>& shape : shapes) {
    std::vector<std::string> arguments =
        generate({"-p", "Once", "-md", stories260k(), "--spec-policy", "auto"});
    arguments.insert(arguments.end(), shape.begin(), shape.end());
    const Outcome outcome = run_augur(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(shape.front() + ": "), HasSubstr("auto decides")));
  }
}

TEST(Generate, APlanAsTextAndAsFlagsIsTheSame) {
  const auto drafted = [](std::vector<std::string> more) {
    std::vector<std::string> arguments =
        generate({"-p", "Once upon", "-n", "40", "--json", "-md", stories260k()});
    arguments.insert(arguments.end(), more.begin(), more.end());
    const json speculation = parse(run_augur(arguments))["speculation"];
    return std::tuple(speculation["type"], speculation["drafted_tokens"], speculation["calls"]);
  };
  const auto flags = drafted({"--spec-type", "ngram,draft-simple", "--spec-tree-topk", "3",
                              "--spec-tree-depth", "2", "--spec-ngram-max", "6", "--no-spec-coupling"});
  EXPECT_EQ(drafted({"--spec-type", "ngram,draft:topk=3,depth=2,ngram-max=6,coupling=0"}), flags);
  EXPECT_EQ(
      drafted({"--spec-type", "ngram,auto:topk=9,depth=2,ngram-max=6,coupling=0", "--spec-tree-topk", "3"}),
      flags)
      << "flags come on top";
  EXPECT_NE(drafted({"--spec-type", "ngram,draft:topk=3,depth=3"}), flags);
}

TEST(Generate, LearnedPartsAreLookedForInTheDraftersFolder) {
  const auto error_of = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = generate({"-p", "x", "-n", "3"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_augur(arguments);
    EXPECT_EQ(outcome.code, 1);
    return outcome.err;
  };
  EXPECT_THAT(error_of({"-md", stories260k(), "--spec-policy", "hetero"}),
              AllOf(HasSubstr(stories260k() + "/hetero"), HasSubstr("augur train hetero")));
  EXPECT_THAT(error_of({"-md", stories260k(), "--spec-vocab", "dynaspec"}),
              AllOf(HasSubstr(stories260k() + "/dynaspec"), HasSubstr("augur train dynaspec")));
  EXPECT_THAT(error_of({"--spec-type", "ngram", "--spec-policy", "c2t"}), HasSubstr("draft model"));
}

TEST(Generate, SampledTextDependsOnTheSeedAndNotOnTheDrafter) {
  const auto sampled = [](const std::string& seed, std::vector<std::string> more) {
    std::vector<std::string> arguments = generate({"-p", "The dog", "-n", "60", "--temp", "0.9", "--top-p",
                                                   "0.95", "--seed", seed, "--repeat-penalty", "1.1"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_augur(arguments).out;
  };
  const std::string plain = sampled("1", {});
  EXPECT_EQ(sampled("1", {"--spec-type", "ngram-simple"}), plain);
  EXPECT_EQ(sampled("1", {"--spec-type", "draft-simple", "-md", stories260k(), "--spec-tree-topk", "2"}),
            plain);
  EXPECT_NE(sampled("2", {}), plain);
}

TEST(Generate, ReadsThePromptFromAFileWithoutItsLastNewline) {
  const auto file = temporary_file("prompt.txt", "Once upon\n");
  const std::string from_file = run_augur(generate({"-f", file.string(), "-n", "10"})).out;
  EXPECT_EQ(from_file, run_augur(generate({"-p", "Once upon", "-n", "10"})).out);
  EXPECT_EQ(from_file, run_augur(generate({"-f", "-", "-n", "10"}), {.input = "Once upon\n"}).out);
}

TEST(Generate, StopsBeforeAStopString) {
  const json result =
      parse(run_augur(generate({"-p", "", "--stop", "Lily. She", "--stop", "never", "--json"})));
  EXPECT_EQ(result["text"], "Once upon a time, there was a little girl named ");
  EXPECT_EQ(result["finish_reason"], "stop");
}

TEST(Generate, LogitBiasForbidsAToken) {
  const json plain = parse(run_augur(generate({"-p", "", "-n", "1", "--json"})));
  const std::string token = plain["tokens"][0].dump();
  const json biased =
      parse(run_augur(generate({"-p", "", "-n", "1", "--json", "--logit-bias", token + "-inf"})));
  EXPECT_NE(biased["tokens"], plain["tokens"]);
  const json forced = parse(run_augur(generate({"-p", "", "-n", "3", "--json", "--logit-bias", "7+1000"})));
  EXPECT_EQ(forced["tokens"], json({7, 7, 7}));
}

TEST(Generate, SaysWhatIsWrongWithTheCommandLine) {
  const auto file = temporary_file("p.txt", "x");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"-p", "x", "--top-p", "1.5"}, "--top-p"},
      {{"-p", "x", "--temp", "nan"}, "--temp"},
      {{"-p", "x", "--temp", "hot"}, "--temp"},
      {{"-p", "x", "-n", "-2"}, "--predict"},
      {{"-p", "x", "-n", "99999999999999999999"}, "--predict"},
      {{"-p", "x", "--spec-type", "eagle9"}, "--spec-type"},
      {{"-p", "x", "--spec-type", "draft"}, "draft needs a draft model"},
      {{"-p", "x", "--spec-type", "ngram,draft-eagle3"}, "eagle3 needs a draft model"},
      {{"-p", "x", "--spec-type", "none,ngram"}, "'none' stands alone"},
      {{"-p", "x", "--spec-type", "ngram:colour=red"}, "'colour'"},
      {{"-p", "x", "--spec-type", "ngram", "--spec-tree-topk", "257"},
       "--spec-tree-topk: expected an integer"},
      {{"-p", "x", "--spec-type", "ngram", "--spec-ngram-max", "0"}, "from 1 to 64"},
      {{"-p", "x", "--spec-type", "ngram", "--spec-draft-n-min", "9"}, "at most --spec-draft-n-max"},
      {{"-p", "x", "--spec-type", "ngram", "--spec-policy", ":beta=1"}, "--spec-policy"},
      {{"-p", "x", "--spec-verify", "hope"}, "--spec-verify"},
      {{"-p", "x", "--weights", "q4"}, "--weights"},
      {{"-p", "x", "--logit-bias", "7"}, "TOKEN_ID+BIAS"},
      {{"-p", "x", "--logit-bias", "7+-2"}, "TOKEN_ID+BIAS"},
      {{"-p", "x", "--system", "y"}, "--chat"},
      {{"-p", "x", "-f", file.string()}, "one of -p, -f and --prompts"},
      {{}, "one of -p, -f and --prompts"},
      {{"-p", "x", "--parallel", "2"}, "--prompts"},
      {{"-p", "x", "--no-such-flag"}, "--no-such-flag"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = run_augur(generate(arguments));
    EXPECT_EQ(outcome.code, 2) << message << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err,
                AllOf(StartsWith("augur: "), HasSubstr(message), HasSubstr("augur generate --help")));
  }
}

TEST(Generate, SaysWhatIsWrongWithItsInputs) {
  const auto error_of = [](const std::vector<std::string>& arguments) {
    const Outcome outcome = run_augur(arguments);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_THAT(error_of({"generate", "-m", "/no/such/model", "-p", "x"}), HasSubstr("/no/such/model"));
  EXPECT_THAT(error_of(generate({"-f", "/no/such/prompt"})), HasSubstr("/no/such/prompt"));
  EXPECT_THAT(error_of(generate({"--prompts", "/no/such/prompts"})), HasSubstr("/no/such/prompts"));
  EXPECT_THAT(error_of(generate({"-p", "x", "--chat"})), HasSubstr("template"));
  EXPECT_THAT(error_of(generate({"-p", "x", "-md", "/no/such/draft"})), HasSubstr("/no/such/draft"));
  EXPECT_THAT(error_of(generate({"-p", "x", "--logit-bias", "100000+1"})), HasSubstr("100000"));
}

TEST(Generate, ADraftModelOfAnotherVocabularyIsRefused) {
  const Outcome outcome =
      run_augur(generate({"-p", "x", "-md", std::string(AUGUR_SOURCE_DIR) + "/models/smollm2-draft-11m"}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("vocabular"), HasSubstr("stories260k"), HasSubstr("smollm2-draft-11m")));
}

TEST(Generate, ForcedKernelsGiveTheKnownAnswerAndUnknownOnesAreRefused) {
  const Outcome portable =
      run_augur(generate({"-p", "", "-n", "40"}), {.environment = {"AUGUR_ISA=portable"}});
  EXPECT_EQ(portable.code, 0) << portable.err;
  EXPECT_THAT(kStoriesKnownAnswer, StartsWith(portable.out));
  EXPECT_GT(portable.out.size(), 40u);
  const Outcome unknown = run_augur(generate({"-p", ""}), {.environment = {"AUGUR_ISA=mmx"}});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("mmx"));
}

TEST(Generate, TheChainsLawIsEverywhereTheSecondTakesATileUnit) {
  const Outcome chain = run_augur(generate({"-p", "", "-n", "40", "--law", "chain"}));
  EXPECT_EQ(chain.code, 0) << chain.err;
  EXPECT_THAT(kStoriesKnownAnswer, StartsWith(chain.out));
  const Outcome blocks =
      run_augur(generate({"-p", "", "--law", "blocks"}), {.environment = {"AUGUR_ISA=portable"}});
  EXPECT_EQ(blocks.code, 1);
  EXPECT_THAT(blocks.err, AllOf(HasSubstr("law 'blocks'"), HasSubstr("AMX"), HasSubstr("portable")));
}

class GenerateSignals : public testing::TestWithParam<int> {};

TEST_P(GenerateSignals, EndWithStatistics) {
  // 500 tokens of this model take a moment only, and it may be about to end by itself, or have ended, when
  // the signal arrives; hardly with the slowest kernels, and not time after time.
  Outcome outcome;
  for (int i = 0; i < 10 && outcome.err.find("ended by cancelled") == std::string::npos; ++i) {
    outcome =
        run_augur(generate({"-p", "", "--ignore-eos", "-n", "500"}),
                  {.environment = {"AUGUR_ISA=portable"}, .signal = GetParam(), .signal_after_bytes = 40});
  }
  EXPECT_EQ(outcome.code, 128 + GetParam()) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("ended by cancelled"), HasSubstr("tokens/s")));
}

INSTANTIATE_TEST_SUITE_P(Programs, GenerateSignals, testing::Values(SIGINT, SIGTERM));

TEST(Generate, AnExhaustedMachineIsOneLine) {
  if (testing_support::kSanitized) GTEST_SKIP() << "sanitizers need address space of their own";
  const std::filesystem::path prompt = temporary_file("prompt.txt", "Once");
  std::filesystem::resize_file(prompt, std::size_t{1} << 30);
  const Outcome outcome =
      run_augur({"tokenize", "-m", stories260k(), "-f", prompt.string()}, {.memory = std::size_t{128} << 20});
  std::filesystem::remove(prompt);
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "augur: out of memory\n");
}

TEST(Generate, AReaderThatGoesAwayIsAnErrorNotACrash) {
  // From the beginning: whether a reader that leaves later does so before the last token is for the clock.
  const Outcome outcome = run_augur(generate({"-p", "", "--ignore-eos", "-n", "500"}), {.unread = true});
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("standard output"));
}

TEST(Generate, AFullDiskIsAnError) {
  const Outcome outcome = run_augur(generate({"-p", "", "-n", "20", "--json"}), {.stdout_path = "/dev/full"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("No space left"));
}

}  // namespace
}  // namespace augur::test
