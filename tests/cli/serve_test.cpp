#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "cli/program.h"

namespace augur::test {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(Serve, SaysWhereItServesAndEndsWell) {
  const Outcome outcome =
      run_augur({"serve", "-m", stories260k(), "-t", "2", "--port", "0", "--spec-type", "ngram"},
                {.signal = SIGTERM, .signal_after_bytes = 20});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, MatchesRegex("stories260k is served at http://127.0.0.1:[1-9][0-9]*\n"));
}

TEST(Serve, SuggestsTheWordThatWasMeant) {
  EXPECT_THAT(run_augur({"serv"}).err, HasSubstr("augur: serv is not known: did you mean serve?"));
  EXPECT_THAT(run_augur({"serve", "-m", "x", "--prot", "80"}).err,
              HasSubstr("augur: --prot is not known: did you mean --port?"));
  EXPECT_THAT(run_augur({"generate", "-m", "x", "--tempertaure=1"}).err,
              HasSubstr("--tempertaure is not known: did you mean --temperature?"));
  const Outcome port = run_augur({"serve", "-m", stories260k(), "--port", "70000"});
  EXPECT_EQ(port.code, 2);
  EXPECT_THAT(port.err, HasSubstr("'70000' is not a number from 0 to 65535"));
  EXPECT_EQ(run_augur({"generate", "-m", stories260k(), "-p", "Once", "-n", "1", "--temperature", "0"}).code,
            0);
}

TEST(Serve, SaysWhatCannotBe) {
  const Outcome nowhere = run_augur({"serve", "-m", stories260k(), "--host", "nowhere"});
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("'nowhere' is not an address"));
  EXPECT_THAT(nowhere.err, HasSubstr("no --api-key"));
  EXPECT_EQ(run_augur({"serve", "-m", stories260k(), "--parallel", "0"}).code, 2);
  EXPECT_EQ(run_augur({"serve", "-m", "no/such/model", "--port", "0"}).code, 1);
}

TEST(Serve, TakesNoEmptyKeyAndNoLimitThatCannotBe) {
  const Outcome open_door = run_augur({"serve", "-m", stories260k(), "--port", "0", "--api-key", ""});
  EXPECT_EQ(open_door.code, 1);
  EXPECT_THAT(open_door.err, HasSubstr("an API key is empty"));
  for (const char* flag : {"--max-body", "--max-connections", "--timeout", "--threads-http",
                           "--spec-most-nodes", "--grammar-seconds", "--template-memory"}) {
    EXPECT_EQ(run_augur({"serve", "-m", stories260k(), flag, "0"}).code, 2) << flag;
  }
  const std::string help = run_augur({"serve", "--help"}).out;
  for (const char* flag : {"--http-memory MiB=512", "--grammar-seconds s=2", "--max-nesting N=64"}) {
    EXPECT_THAT(help, HasSubstr(flag));
  }
}

}  // namespace
}  // namespace augur::test
