#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "support/eventually.h"

namespace augur::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class BenchServe : public ::testing::Test {
 protected:
  std::vector<std::string> bench(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"bench", "serve", "--url",    url_, "--clients", "2",
                                          "-n",    "12",    "--rounds", "1",  "--json",    json_.string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  json figures() const {
    std::ifstream in(json_);
    return json::parse(in);
  }

  RunningAugur server_{{"serve", "-m", stories260k(), "-t", "1", "--port", "0", "--parallel", "4"}};
  std::string url_ = fmt::format("http://127.0.0.1:{}", server_.port());
  std::filesystem::path json_ = temporary_file("serve.json");
};

TEST_F(BenchServe, PeersAreStartedAndMeasuredInTurn) {
  const auto prompts =
      temporary_file("prompts.jsonl", "{\"text\": \"Once upon a time\"}\n{\"text\": \"One day, Lily\"}\n");
  const auto peers =
      temporary_file("peers.txt", std::string("us too: exec ") + AUGUR_PROGRAM +
                                      " serve -m \"$MODEL\" -t $THREADS --parallel $PARALLEL --port $PORT\n");
  const Outcome outcome =
      run_augur(bench({"--prompts", prompts.string(), "--fields", "{\"ignore_eos\": true}", "--method",
                       "plain={\"speculative\": {\"type\": \"none\"}}", "--peers", peers.string(), "-m",
                       stories260k(), "-t", "1"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("plain"), HasSubstr("us too")));
  const json cells = figures();
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[1]["method"], "us too");
  for (const json& cell : cells) {
    EXPECT_EQ(cell["same_text"], true);
    EXPECT_GT(cell["tokens_per_second"][0], 0.0);
  }
}

TEST_F(BenchServe, ALongPromptAmongStreams) {
  const Outcome outcome = run_augur(bench({"--prompt-tokens", "60"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("streams"), HasSubstr("default")));
  const json cell = figures().at(0);
  EXPECT_EQ(cell["clients"], 2);
  EXPECT_GT(cell["prompt_tokens"], 30);
  EXPECT_LT(cell["prompt_tokens"], 150);
  EXPECT_GT(cell["alone"]["itl_ms_p99"], 0.0);
  EXPECT_GE(cell["with_prompt"]["itl_ms_max"], cell["with_prompt"]["itl_ms_p50"]);
  EXPECT_EQ(cell["ttft_ms_second_turn"].size(), 1U);
}

TEST_F(BenchServe, ASignalEndsThePeersToo) {
  const auto pid = temporary_file("pid");
  const auto peers = temporary_file("peers.txt", "slow: echo $$ > '" + pid.string() + "'; exec sleep 1000\n");
  RunningAugur running(bench({"--prompt-tokens", "60", "--peers", peers.string(), "-m", "none"}));
  pid_t peer = 0;
  ASSERT_TRUE(testing_support::poll_until([&] { return bool(std::ifstream(pid) >> peer); }));
  running.signal(SIGTERM);
  EXPECT_EQ(running.wait().code, 128 + SIGTERM);
  EXPECT_EQ(::kill(peer, 0), -1) << "it has ended";
}

TEST_F(BenchServe, SaysWhatIsWrong) {
  const auto error = [&](const std::vector<std::string>& more) { return run_augur(bench(more)).err; };
  EXPECT_THAT(error({}), HasSubstr("one of --prompts and --prompt-tokens"));
  EXPECT_THAT(error({"--prompt-tokens", "60", "--fields", "[1]"}), HasSubstr("--fields [1]: expected"));
  EXPECT_THAT(error({"--prompt-tokens", "60", "--method", "x"}), HasSubstr("--method x: expected"));
  EXPECT_THAT(error({"--prompt-tokens", "60", "--peers", "llama.cpp"}), HasSubstr("--model"));
  EXPECT_THAT(error({"--prompt-tokens", "100000"}), HasSubstr("/v1/completions answered 400"));
}

}  // namespace
}  // namespace augur::test
