// Rounds whose true times are known: a machine that is two thirds slower for a third of the time, just when a
// controller drafts, and that loses a slice to other programs now and then.
#include "lab/suite/priced_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "lab/suite/round_log.h"
#include "support/error_of.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::error_of;

constexpr double kOtherMs = 0.01;

double true_ms(const LoggedRound& r) {
  const double draft = r.variant == "plain" ? 0.0 : r.drafted > 0 ? 1.8 : 0.02;
  return (r.rows == 1 ? 6.0 : 7.2) + draft + kOtherMs;
}

std::vector<LoggedRound> rounds_of(const std::string& variant, const std::function<bool(int)>& slow,
                                   const std::function<bool(int)>& drafts, std::mt19937& random) {
  std::lognormal_distribution<double> wander(0.0, 0.03);
  std::uniform_real_distribution<double> uniform;
  const auto slice = [&](double often) { return uniform(random) < often ? 16.0 : 0.0; };
  std::vector<LoggedRound> rounds;
  for (int i = 0; i < 400; ++i) {
    LoggedRound r{.suite = "s",
                  .prompt = 0,
                  .variant = variant,
                  .round = i,
                  .mode = variant == "plain" ? "fixed" : "plain",
                  .drafted = drafts(i) ? 4 : 0,
                  .rows = drafts(i) ? 3 : 1,
                  .tokens = 1,
                  .draft_ms = 0,
                  .verify_ms = 0,
                  .other_ms = kOtherMs + slice(0.005)};
    const double pace = (slow(i) ? 1.67 : 1.0) * wander(random);
    r.verify_ms = (r.rows == 1 ? 6.0 : 7.2) * pace + slice(0.01);
    if (variant != "plain") r.draft_ms = (r.drafted > 0 ? 1.8 : 0.02) * pace;
    rounds.push_back(r);
  }
  return rounds;
}

/// Of plain decoding on a steady machine, and of a controller that drafts mostly while it is slow.
std::vector<LoggedRound> wandering_rounds() {
  std::mt19937 random(7);
  const auto never = [](int) { return false; };
  std::vector<LoggedRound> rounds = rounds_of("plain", never, never, random);
  const std::vector<LoggedRound> steered = rounds_of(
      "ngram:policy=auto", [](int i) { return i >= 150 && i < 280; },
      [](int i) { return i >= 160 && i < 290 && i % 5 != 0; }, random);
  rounds.insert(rounds.end(), steered.begin(), steered.end());
  return rounds;
}

TEST(PricedRounds, AreWhatASteadyMachineWouldHaveTaken) {
  const std::vector<LoggedRound> rounds = wandering_rounds();
  const std::vector<double> priced = priced_ms(rounds);
  std::vector<double> truth;
  std::vector<double> measured;
  for (const LoggedRound& r : rounds) {
    truth.push_back(true_ms(r));
    measured.push_back(r.ms());
  }
  const auto steered_over_plain = [](const std::vector<double>& ms) {
    const auto half = ms.begin() + std::ssize(ms) / 2;
    return std::accumulate(half, ms.end(), 0.0) / std::accumulate(ms.begin(), half, 0.0);
  };
  EXPECT_NEAR(steered_over_plain(priced) / steered_over_plain(truth), 1.0, 0.01);
  EXPECT_GT(steered_over_plain(measured) / steered_over_plain(truth), 1.1) << "measuring gets it wrong";
}

TEST(PricedRounds, AreComparedWithTheBestFixedVariant) {
  const std::string tables = priced_tables(wandering_rounds());
  EXPECT_THAT(tables, HasSubstr(" tokens/s, 1.000 of the best fixed; measured "));
  EXPECT_THAT(tables, HasSubstr(" tokens/s, 0.88")) << "what the controller's rounds truly reach";
  std::vector<LoggedRound> steered = wandering_rounds();
  std::erase_if(steered, [](const LoggedRound& r) { return r.mode == "fixed"; });
  EXPECT_THAT(priced_tables(steered), HasSubstr("none is fixed"));
}

TEST(RoundLog, SaysWhatAPolicyCallsWhatItChose) {
  const testing_support::TemporaryFolder folder;
  const auto file = folder.path() / "rounds.jsonl";
  DraftTree tree;
  tree.reset(1, 8);
  const std::int32_t path[] = {DraftTree::kRoot};
  RoundLog log(file.string(), false);
  log.begin("s", 3, "draft:policy=arms");
  StepTrace round;
  round.tree = &tree;
  round.path = path;
  round.verify_ms = 2;
  round.forecast = {.tokens = 1.5, .choice = "\"six\" nodes"};
  log.write(round);
  round.forecast = {};
  log.write(round);
  log.finish();
  std::ifstream in(file);
  std::string lines[2];
  for (std::string& line : lines) std::getline(in, line);
  const nlohmann::json first = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(first["choice"], "\"six\" nodes");
  EXPECT_EQ(first["forecast_tokens"], 1.5);
  EXPECT_EQ(nlohmann::json::parse(lines[1])["choice"], "");
  EXPECT_EQ(read_round_log(file).size(), 2u);
}

TEST(ReadRoundLog, RefusesWhatIsNone) {
  const testing_support::TemporaryFolder folder;
  const auto error = [&](const std::string& text) {
    std::ofstream(folder.path() / "rounds.jsonl") << text;
    return error_of([&] { read_round_log(folder.path() / "rounds.jsonl"); });
  };
  const std::string good =
      R"({"suite":"s","prompt":0,"variant":"plain","round":0,"mode":"fixed","context":3,"drafted":0,"rows":1,)"
      R"("tokens":1,"draft_ms":0.0,"verify_ms":6.1,"other_ms":0.1})"
      "\n";
  EXPECT_EQ(error(good), "no error");
  EXPECT_THAT(error(""), HasSubstr("rounds.jsonl: no rounds"));
  EXPECT_THAT(error(good + "{"), HasSubstr("rounds.jsonl line 2"));
  EXPECT_THAT(error(good + "[1]\n"), HasSubstr("line 2: not what --log writes: expected an object"));
  EXPECT_THAT(error(good + R"({"suite":"s","prompt":"x"})"), AllOf(HasSubstr("line 2"), HasSubstr("prompt")));
  std::string untimed = good;
  untimed.replace(untimed.find("6.1"), 3, "-6.1");
  EXPECT_THAT(error(untimed), HasSubstr("line 1: not what --log writes: expected milliseconds above 0"));
  EXPECT_THAT(error_of([&] { read_round_log(folder.path() / "none"); }), HasSubstr("none: can't be read"));
}

}  // namespace
}  // namespace augur
