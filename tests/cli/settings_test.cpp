#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/program.h"

namespace augur::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// What the server says that it would do.
Outcome settings(std::vector<std::string> more, std::vector<std::string> environment = {}) {
  std::vector<std::string> arguments = {"serve", "--print-config"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_augur(arguments, {.input = {}, .environment = std::move(environment), .stdout_path = {}});
}

std::string file_of(const std::string& text) {
  return temporary_file("augur.toml", text).string();
}

TEST(Settings, FlagsGoBeforeTheEnvironmentAndThatBeforeTheFile) {
  const std::string file = file_of("port = 1\nparallel = 2\nqueue = 3\nmodel = \"m\"\n");
  const Outcome outcome =
      settings({"--config", file, "--port", "11"}, {"AUGUR_PORT=21", "AUGUR_PARALLEL=22"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\nport = 11  # command line\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\nparallel = 22  # AUGUR_PARALLEL\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\nqueue = 3  # " + file + ": line 3: queue\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\nmodel = \"m\"  # " + file));
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("\n# host = \"127.0.0.1\"\n"), HasSubstr("\n# max-body = 8\n"),
                    HasSubstr("\n# metrics = true\n"), HasSubstr("\n# no-log-requests = false\n"),
                    HasSubstr("\n# strict-fields = false\n"), HasSubstr("\n# Limits\n")));
  const Outcome by_variable = settings({}, {"AUGUR_CONFIG=" + file, "AUGUR_MODEL=n"});
  EXPECT_THAT(by_variable.out,
              AllOf(HasSubstr("\nport = 1  # "), HasSubstr("\nmodel = \"n\"  # AUGUR_MODEL\n")));
}

TEST(Settings, ValuesAreOfEveryKind) {
  const Outcome outcome = settings({"--config", file_of(R"(# a comment
model = 'a # b'
alias = "tiny,\"x\""      # another
metrics = false
no-slots = true
no-log-requests = true
timeout = 1.5
max-body = 0x10
trusted-proxy = [ "10.0.0.0/8",
  "unix" ]
allowed-host = "one"
chat-template-kwargs = '{"mood": "calm"}'
temperature = 0.25
spec-type = "ngram"
spec-policy = "chain"
)")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* line :
       {R"(model = "a # b")", R"(alias = "tiny,\"x\"")", "metrics = false", "slots = false",
        "no-log-requests = true", R"(timeout = "1.5")", "max-body = 16",
        R"(trusted-proxy = ["10.0.0.0/8", "unix"])", R"(allowed-host = ["one"])",
        R"(chat-template-kwargs = "{\"mood\": \"calm\"}")", R"(temp = "0.25")", R"(spec-type = "ngram")"}) {
    EXPECT_THAT(outcome.out, HasSubstr("\n" + std::string(line) + "  # "));
  }
  const Outcome again = settings({"--config", temporary_file("printed.toml", outcome.out).string()});
  const auto without_origins = [](const std::string& text) {
    std::string plain;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      const std::string line = text.substr(at, end - at);
      plain += line.substr(0, line.rfind("  # ")) + "\n";
      at = end + 1;
    }
    return plain;
  };
  EXPECT_EQ(without_origins(again.out), without_origins(outcome.out)) << "what is printed can be read";
}

TEST(Settings, TheEnvironmentHasEveryFlag) {
  const Outcome outcome =
      settings({}, {"AUGUR_MODEL=m", "AUGUR_NO_METRICS=1", "AUGUR_SLOTS=off", "AUGUR_LOG_FORMAT=json",
                    "AUGUR_TRUSTED_PROXY=10.0.0.0/8,unix", "AUGUR_MAX_BODY=5", "AUGUR_N_PREDICT=7"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* line : {"metrics = false  # AUGUR_NO_METRICS", "slots = false  # AUGUR_SLOTS",
                           "log-format = \"json\"  # AUGUR_LOG_FORMAT", "max-body = 5  # AUGUR_MAX_BODY",
                           "trusted-proxy = [\"10.0.0.0/8\", \"unix\"]  # AUGUR_TRUSTED_PROXY",
                           "predict = 7  # AUGUR_N_PREDICT"}) {
    EXPECT_THAT(outcome.out, HasSubstr("\n" + std::string(line) + "\n"));
  }
}

TEST(Settings, SecretsAreHidden) {
  const std::string file = file_of("model = \"m\"\napi-key = [\"a:SECRET1\", \"SECRET2\"]\n");
  const Outcome outcome = settings({"--config", file}, {"AUGUR_METRICS_KEY=SECRET3"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, Not(HasSubstr("SECRET")));
  EXPECT_THAT(outcome.out, HasSubstr("\n# api-key: 2 said, hidden  # " + file));
  EXPECT_THAT(outcome.out, HasSubstr("\n# metrics-key: 1 said, hidden  # AUGUR_METRICS_KEY\n"));
  EXPECT_THAT(settings({"-m", "m"}, {"AUGUR_API_KEY=x"}).out, HasSubstr("# api-key: 1 said, hidden"));
}

/// "ERROR" of a file that cannot be, which names it, the line and the key.
TEST(Settings, WhatAFileGetsWrongIsNamed) {
  const auto wrong = [](const std::string& text, const std::string& said) {
    const std::string file = file_of(text);
    const Outcome outcome = settings({"--config", file, "-m", "m"});
    EXPECT_EQ(outcome.code, 2) << text;
    EXPECT_THAT(outcome.err, HasSubstr("augur: " + file + ": " + said)) << text;
    EXPECT_EQ(outcome.out, "");
  };
  wrong("port = 1\nprot = 2\n", "line 2: prot is not known: did you mean port?");
  wrong("ctx_size = 2\n", "line 1: ctx_size is not known: did you mean ctx-size?");
  wrong("nonsense = 2\n", "line 1: nonsense is not known: expected a flag's name without its dashes");
  wrong("config = \"x\"\n", "line 1: config is not known");
  wrong("help = true\n", "line 1: help is not known");
  wrong("port = 1\nport = 2\n", "line 2: ");
  wrong("temp = 1\ntemperature = 1\n", "line 2: temperature says the same thing as temp in line 1");
  wrong("metrics = true\nno-metrics = true\n", "line 2: no-metrics says the same thing as metrics");
  wrong("port = 70000\n", "line 1: port: --port: '70000' is not a number from 0 to 65535");
  wrong("port = [1, 2]\n", "line 1: port: expected one value, found a list");
  wrong("port = true\n", "line 1: port: expected a text or a number");
  wrong("metrics = 1\n", "line 1: metrics: expected true or false");
  wrong("metrics = \"false\"\n", "line 1: metrics: expected true or false");
  wrong("port = 2030-01-01\n", "line 1: port: expected a text, a number, true or false");
  wrong("trusted-proxy = [[\"unix\"]]\n", "line 1: trusted-proxy: expected a text, a number");
  wrong("[serve]\nport = 1\n", "line 1: serve: expected keys without a table");
  wrong("serve.port = 1\n", "line 1: serve: expected keys without a table");
  wrong("[[serve]]\nport = 1\n", "line 1: serve: expected keys without a table");
  wrong("port = \n", "line 1: ");
  wrong("# good\nhost = \"a\nport = 1\n", "line 2: ");
  wrong("\"po\\nrt\" = 1\n", "line 1: \"po\\u000Art\" is not known");
  wrong("port 8080\n", "line 1: ");
  wrong("spec-type = \"nonsense\"\n", "line 1: spec-type: ");
  wrong(std::string("port = 1\0\n", 10), "line 1: ");
  wrong(std::string((1 << 20) + 1, '\n'), "expected a configuration of at most 1 MiB");
  const Outcome missing = settings({"--config", "no/such.toml", "-m", "m"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("no/such.toml: cannot be read: No such file or directory"));
  EXPECT_THAT(settings({"--config", "/", "-m", "m"}).err, HasSubstr("/: is a folder"));
  EXPECT_EQ(settings({}).code, 2) << "no model";
}

TEST(Settings, WhatAVariableGetsWrongIsNamed) {
  const auto wrong = [](std::vector<std::string> environment, const std::string& said) {
    const Outcome outcome = settings({"-m", "m"}, environment);
    EXPECT_EQ(outcome.code, 2) << environment[0];
    EXPECT_THAT(outcome.err, HasSubstr("augur: " + said)) << environment[0];
  };
  wrong({"AUGUR_PORT=high"}, "AUGUR_PORT: --port: 'high' is not a number");
  wrong({"AUGUR_PORT="}, "AUGUR_PORT: --port: '' is not a number");
  wrong({"AUGUR_METRICS=maybe"}, "AUGUR_METRICS: expected true or false, found 'maybe'");
  wrong({"AUGUR_PROT=1"}, "AUGUR_PROT is not known: did you mean AUGUR_PORT?");
  wrong({"AUGUR_TEMP=1", "AUGUR_TEMPERATURE=1"},
        "AUGUR_TEMP and AUGUR_TEMPERATURE say the same thing: expected one of them");
  wrong({"AUGUR_CONFIG=no/such.toml"}, "no/such.toml: cannot be read");
  EXPECT_EQ(
      run_augur({"serve", "--help"}, {.input = {}, .environment = {"AUGUR_PORT=high"}, .stdout_path = {}})
          .code,
      0);
}

/// A service called augur puts such variables into every pod of its name space.
TEST(Settings, WhatOthersPutIntoTheEnvironmentEndsNothing) {
  const Outcome outcome = settings(
      {"-m", "m"}, {"AUGUR_PORT=tcp://10.0.0.1:80", "AUGUR_SERVICE_HOST=10.0.0.1", "AUGUR_SERVICE_PORT=80",
                    "AUGUR_PORT_80_TCP_PROTO=tcp", "AUGUR_A_PORT=tcp://10.0.0.2:80", "AUGUR_ISA=avx2",
                    "AUGUR_SKIP_BOOTSTRAP=1", "AUGURS=1"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\n# port = 8080\n"));
  EXPECT_THAT(outcome.err, HasSubstr("warning: AUGUR_PORT is left out"));
}

TEST(Settings, AWarningThatNobodyTakesStopsNothing) {
  const Outcome outcome =
      run_augur({"serve", "--print-config", "-m", "m"}, {.input = {},
                                                         .environment = {"AUGUR_PORT=tcp://10.0.0.1:80"},
                                                         .stdout_path = {},
                                                         .stderr_path = "/dev/full"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("\n# port = "));
}

}  // namespace
}  // namespace augur::test
