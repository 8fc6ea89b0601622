#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "cli/program.h"

namespace augur::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Serve, SaysWhereItServesAndEndsWell) {
  const Outcome outcome =
      run_augur({"serve", "-m", stories260k(), "-t", "2", "--port", "0", "--spec-type", "ngram"},
                {.signal = SIGTERM, .signal_after_bytes = 20});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, MatchesRegex("stories260k is served at http://127.0.0.1:[1-9][0-9]*\n"));
}

TEST(Serve, TakesAChatTemplateByNameOrFile) {
  const auto serve = [](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"serve", "-m", stories260k(), "-t", "1", "--port", "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_augur(arguments, {.signal = SIGTERM, .signal_after_bytes = 20});
  };
  const Outcome none = serve({});
  EXPECT_EQ(none.code, 0) << none.err;
  EXPECT_THAT(none.err, HasSubstr("has no chat template"));
  const Outcome named = serve({"--chat-template", "llama3"});
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_THAT(named.err, Not(HasSubstr("has no chat template")));
  EXPECT_EQ(serve({"--chat-template", "{{ messages[0].content }}"}).code, 0) << "the text itself";
  const Outcome unknown = serve({"--chat-template", "chatlm"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean chatml?"));
  EXPECT_EQ(serve({"--chat-template-file", "no/such/file"}).code, 1);
  EXPECT_EQ(serve({"--chat-template", "{% if %}"}).code, 1) << "no template";
}

TEST(Serve, TakesVariablesForTheChatTemplate) {
  const auto serve = [](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"serve", "-m", stories260k(), "-t", "1", "--port", "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_augur(arguments, {.signal = SIGTERM, .signal_after_bytes = 20});
  };
  const Outcome all = serve({"--chat-template-kwargs", R"({"mood": "calm"})", "--reasoning", "off",
                             "--reasoning-format", "none", "--reasoning-budget", "-1", "--template-date"});
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(serve({"--reasoning", "auto"}).code, 0);
  EXPECT_NE(serve({"--reasoning", "perhaps"}).code, 0);
  EXPECT_EQ(serve({"--reasoning-format", "deepseek", "--reasoning-budget", "100"}).code, 0);
  EXPECT_NE(serve({"--reasoning-format", "xml"}).code, 0);
  EXPECT_NE(serve({"--reasoning-budget", "-2"}).code, 0);
  const Outcome list = serve({"--chat-template-kwargs", "[1]"});
  EXPECT_EQ(list.code, 1);
  EXPECT_THAT(list.err, HasSubstr("expected a JSON object"));
  const Outcome both =
      serve({"--reasoning", "on", "--chat-template-kwargs", R"({"enable_thinking": false})"});
  EXPECT_EQ(both.code, 1);
  EXPECT_THAT(both.err, HasSubstr("enable_thinking has two values"));
}

TEST(Serve, TellsItsManagerThatItServesLivesAndEnds) {
  const std::string path = temporary_file("notify").string();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  std::copy(path.begin(), path.end(), address.sun_path);
  const int manager = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(manager, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const Outcome outcome =
      run_augur({"serve", "-m", stories260k(), "-t", "1", "--port", "0", "--admin-listen", "127.0.0.1:0"},
                {.environment = {"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=60000000"},
                 .signal = SIGTERM,
                 .signal_after_bytes = 80});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, MatchesRegex("stories260k is served at http://127.0.0.1:[1-9][0-9]*\n"
                                        "health and metrics are at http://127.0.0.1:[1-9][0-9]*\n"));
  std::string told;
  char text[64];
  for (ssize_t got; (got = ::recv(manager, text, sizeof(text), MSG_DONTWAIT)) > 0;) {
    told.append(text, static_cast<std::size_t>(got)).append(" ");
  }
  ::close(manager);
  EXPECT_THAT(told, AllOf(StartsWith("READY=1 "), HasSubstr(" WATCHDOG=1 "), HasSubstr(" STOPPING=1 ")));
}

TEST(Serve, RaisesItsDescriptorsAndSaysWhatFits) {
  const auto serve = [](rlim_t soft, rlim_t hard) {
    ProgramOptions options{.signal = SIGTERM, .signal_after_bytes = 20};
    options.descriptors = rlimit{.rlim_cur = soft, .rlim_max = hard};
    return run_augur({"serve", "-m", stories260k(), "-t", "1", "--port", "0"}, options).err;
  };
  EXPECT_THAT(serve(256, 2048), Not(HasSubstr("--max-connections")));
  EXPECT_THAT(serve(256, 300), HasSubstr("108 clients may be connected, not 1024"));
}

TEST(Serve, RefusesDoorsThatCannotBe) {
  const auto error = [](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"serve", "-m", stories260k()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_augur(arguments);
    EXPECT_NE(outcome.code, 0);
    return outcome.err;
  };
  for (const char* mode : {"0999", "10000", "rw", ""}) {
    EXPECT_THAT(error({"--socket-mode", mode}), HasSubstr("is no octal number from 0 to 0777")) << mode;
  }
  for (const char* at : {"9090", ":9090", "localhost:", "localhost:99999", "localhost:x"}) {
    EXPECT_THAT(error({"--admin-listen", at}), HasSubstr("is no ADDRESS:PORT")) << at;
  }
  EXPECT_THAT(error({"--admin-listen", "nowhere:9090"}), HasSubstr("'nowhere' is not an address"));
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
