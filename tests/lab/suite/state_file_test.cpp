#include "lab/suite/state_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "lab/suite/document.h"
#include "support/error_of.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;
using testing_support::error_of;

const ordered_json kHeader = {{"augur_suite", 1}, {"model", "m"}, {"temperature", 0.5}};

Cell cell(int round) {
  Cell c;
  c.key = {"p", "m", round};
  c.tokens = 10 + round;
  c.decode_ms = 12.25;
  c.prompt_ms = 0.125;
  c.speculation.calls = 4;
  c.speculation.classify_ms = 0.25;
  c.speculation.accepted_per_position = {3, 1};
  c.forecasts.decided[1] = 3;
  c.output = "abc";
  return c;
}

class StateFileTest : public testing::Test {
 protected:
  std::string content() const {
    std::ifstream in(path_);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  void overwrite(const std::string& text) const { std::ofstream(path_, std::ios::trunc) << text; }

  testing_support::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "state.jsonl";
};

TEST_F(StateFileTest, WhatWasAddedIsThereTheNextTime) {
  {
    StateFile state(path_, kHeader);
    state.add(cell(0));
    state.put("costs", {{"a", 1}});
    state.add(cell(1));
  }
  const StateFile again(path_, kHeader);
  ASSERT_EQ(again.cells().size(), 2U);
  const Cell& c = again.cells().at({"p", "m", 1});
  EXPECT_EQ(c.tokens, 11);
  EXPECT_EQ(c.decode_ms, 12.25);
  EXPECT_EQ(c.prompt_ms, 0.125);
  EXPECT_EQ(c.speculation.calls, 4);
  EXPECT_EQ(c.speculation.classify_ms, 0.25);
  EXPECT_EQ(c.speculation.accepted_per_position, (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(c.forecasts.of(RoundMode::Plain), 3);
  EXPECT_EQ(c.output, "abc");
  ASSERT_NE(again.document("costs"), nullptr);
  EXPECT_EQ((*again.document("costs"))["a"], 1);
  EXPECT_EQ(again.document("other"), nullptr);
}

TEST_F(StateFileTest, ALineThatWasCutOffIsDroppedAndWritingGoesOnBehindTheLastWholeOne) {
  {
    StateFile state(path_, kHeader);
    state.add(cell(0));
    state.add(cell(1));
  }
  const std::string whole = content();
  overwrite(whole.substr(0, whole.size() - 9));
  {
    StateFile state(path_, kHeader);
    EXPECT_EQ(state.cells().size(), 1U);
    state.add(cell(1));
  }
  EXPECT_EQ(content(), whole);
}

TEST_F(StateFileTest, RefusesOtherSettingsAndDamage) {
  { StateFile(path_, kHeader).add(cell(0)); }
  ordered_json other = kHeader;
  other["temperature"] = 1.0;
  EXPECT_THAT(error_of([&] { StateFile(path_, other); }), HasSubstr("made with temperature 0.5, now 1.0"));
  ordered_json more = kHeader;
  more["stop"] = {"x"};
  EXPECT_THAT(error_of([&] { StateFile(path_, more); }), HasSubstr("made with stop unknown, now [\"x\"]"));
  ordered_json less = kHeader;
  less.erase("temperature");
  EXPECT_THAT(error_of([&] { StateFile(path_, less); }), HasSubstr("made with temperature 0.5, now unknown"));
  const std::string whole = content();
  overwrite(whole + "{\"prompt\": 1}\n");
  EXPECT_THAT(error_of([&] { StateFile(path_, kHeader); }), HasSubstr("state.jsonl:3: not a cell"));
  overwrite(whole + "{\"document\": 1}\n");
  EXPECT_THAT(error_of([&] { StateFile(path_, kHeader); }), HasSubstr("state.jsonl:3: not a cell"));
  overwrite(whole + "nonsense\n");
  EXPECT_THAT(error_of([&] { StateFile(path_, kHeader); }), HasSubstr("state.jsonl:3: damaged"));
  overwrite("no line at all");
  EXPECT_THAT(error_of([&] { StateFile(path_, kHeader); }), HasSubstr("damaged"));
}

// What is no method's own is every cell's: figures of drafters kept in other types are not mixed.
TEST_F(StateFileTest, TheEnginesFormatsArePartOfTheHeader) {
  EngineOptions usual;
  EngineOptions drafters = usual;
  drafters.draft_weights = DraftWeightFormat::Q4_1;
  EngineOptions cache = usual;
  cache.kv = KvFormat::F32;
  EngineOptions vocabulary = usual;
  vocabulary.speculation.draft_vocabulary = "full";
  const auto header = [](const EngineOptions& engine) { return state_header({}, "m", engine, {}); };
  { StateFile(path_, header(usual)).add(cell(0)); }
  const auto refused = [&](const EngineOptions& engine) {
    return error_of([&] { StateFile(path_, header(engine)); });
  };
  EXPECT_THAT(refused(drafters), HasSubstr("made with draft_weights unknown, now \"q4_1\""));
  EXPECT_THAT(refused(cache), HasSubstr("made with kv unknown, now \"f32\""));
  EXPECT_THAT(refused(vocabulary), HasSubstr("made with vocab unknown, now \"full\""));
  EXPECT_EQ(StateFile(path_, header(usual)).cells().size(), 1U);
}

TEST_F(StateFileTest, CellsOfRunsThatKeptNoForecastsAreRead) {
  ordered_json line = to_json(cell(0));
  line.erase("forecasts");
  overwrite(kHeader.dump() + "\n" + line.dump() + "\n");
  EXPECT_EQ(StateFile(path_, kHeader).cells().at({"p", "m", 0}).tokens, 10);
}

TEST_F(StateFileTest, WithoutAPathItHoldsWhatItIsGivenAndWritesNothing) {
  StateFile state({}, kHeader);
  state.add(cell(0));
  state.put("costs", {{"a", 1}});
  EXPECT_TRUE(state.has({"p", "m", 0}));
  EXPECT_NE(state.document("costs"), nullptr);
}

}  // namespace
}  // namespace augur
