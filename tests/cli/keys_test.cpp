#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "cli/program.h"
#include "support/eventually.h"

namespace augur::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> serving(std::vector<std::string> more) {
  std::vector<std::string> arguments = {"serve", "-m", stories260k(), "-t", "1", "--port", "0"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// Keys of two who use the server: alice's changes.
class KeysOfAServer : public ::testing::Test {
 protected:
  /// As an administrator changes a file: it is there whole, or as it was.
  void write(const std::string& text) const {
    std::ofstream(file_.string() + ".new") << text;
    std::filesystem::rename(file_.string() + ".new", file_);
  }
  static std::string alice(int number) { return "alice-" + std::to_string(number); }
  void rotate(const RunningAugur& server, int number) const {
    write("# the team\nalice:" + alice(number) + "\nbob:bob-0\n");
    server.signal(SIGHUP);
  }
  static int status(std::uint16_t port, const std::string& key) {
    httplib::Client client("127.0.0.1", port);
    const httplib::Result result = client.Get("/v1/models", {{"Authorization", "Bearer " + key}});
    return result ? result->status : 0;
  }

  const std::filesystem::path file_ = temporary_file("keys", "alice:alice-0\nbob:bob-0\n");
};

/// Requests of both, half of them streams, each on a connection that is kept, while alice's key is changed
/// again and again: bob's are all answered, and so are alice's with the key that holds.
TEST_F(KeysOfAServer, RotateUnderLoadWithoutALostRequest) {
  constexpr int kRotations = 20;
  RunningAugur server(serving({"--api-key-file", file_.string(), "--no-log-requests"}));
  const std::uint16_t port = server.port();
  ASSERT_NE(port, 0) << server.err();
  std::atomic<bool> done = false;
  std::atomic<int> answered = 0;
  std::atomic<int> lost = 0;
  const auto load = [&](bool stream) {
    httplib::Client client("127.0.0.1", port);
    client.set_keep_alive(true);
    const std::string body = R"({"prompt": "Once upon a time", "max_tokens": 8, "stream": )" +
                             std::string(stream ? "true" : "false") + "}";
    while (!done) {
      const httplib::Result result =
          client.Post("/v1/completions", {{"Authorization", "Bearer bob-0"}}, body, "application/json");
      const bool whole = result && result->status == 200 &&
                         result->body.find(stream ? "[DONE]" : "completion_tokens") != std::string::npos;
      ++(whole ? answered : lost);
    }
  };
  std::vector<std::thread> clients;
  for (int i = 0; i < 6; ++i) clients.emplace_back(load, i % 2 == 0);
  std::chrono::duration<double> longest{0};
  for (int i = 1; i <= kRotations; ++i) {
    EXPECT_EQ(status(port, alice(i - 1)), 200);
    rotate(server, i);
    const auto begun = std::chrono::steady_clock::now();
    while (status(port, alice(i - 1)) != 401) {
      ASSERT_LT(std::chrono::steady_clock::now() - begun, testing_support::kForEver) << "it stays";
    }
    longest = std::max<std::chrono::duration<double>>(longest, std::chrono::steady_clock::now() - begun);
    EXPECT_EQ(status(port, alice(i)), 200) << "the old one goes when the new one comes";
  }
  const int before = answered;
  const auto begun = std::chrono::steady_clock::now();
  while (answered < before + 20 && std::chrono::steady_clock::now() - begun < testing_support::kForEver) {
    std::this_thread::yield();
  }
  done = true;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(lost, 0);
  EXPECT_GE(answered, 20);
  server.signal(SIGTERM);
  const Outcome outcome = server.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err,
              HasSubstr("msg=audit event=\"keys were read\" added=\"\" removed=\"\" changed=alice"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("alice-")));
  std::printf("%d requests answered, %d lost; a removed key was refused after %.0f ms at the latest\n",
              answered.load(), lost.load(), longest.count() * 1e3);
}

TEST_F(KeysOfAServer, AHangupWithADamagedFileEndsNothing) {
  RunningAugur server(serving({"--api-key-file", file_.string()}));
  const std::uint16_t port = server.port();
  ASSERT_NE(port, 0) << server.err();
  write("alice:alice-1 limits=3\n");
  server.signal(SIGHUP);
  const auto begun = std::chrono::steady_clock::now();
  while (server.err().find("the API keys stay as they were") == std::string::npos) {
    ASSERT_LT(std::chrono::steady_clock::now() - begun, testing_support::kForEver);
    std::this_thread::yield();
  }
  EXPECT_EQ(status(port, "alice-0"), 200);
  EXPECT_EQ(status(port, "alice-1"), 401);
  EXPECT_THAT(server.err(), HasSubstr(file_.string() + ": line 1: expected nothing behind the key but"));
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait().code, 0);
}

/// logrotate moves the file, then sends SIGHUP.
TEST_F(KeysOfAServer, AHangupHasTheLogOpenedAnew) {
  const std::filesystem::path log = temporary_file("log");
  const std::filesystem::path moved = log.string() + ".1";
  const auto content = [](const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  RunningAugur server(serving({"--api-key-file", file_.string(), "--log-file", log.string()}));
  const std::uint16_t port = server.port();
  ASSERT_NE(port, 0) << server.err();
  EXPECT_EQ(status(port, "alice-0"), 200);
  EXPECT_TRUE(
      testing_support::poll_until([&] { return content(log).find("key=alice") != std::string::npos; }));
  std::filesystem::rename(log, moved);
  server.signal(SIGHUP);
  EXPECT_TRUE(testing_support::poll_until([&] { return std::filesystem::exists(log); }));
  EXPECT_EQ(status(port, "bob-0"), 200);
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait().code, 0);
  EXPECT_THAT(content(log), HasSubstr("key=bob"));
  EXPECT_THAT(content(moved), Not(HasSubstr("key=bob")));
}

TEST_F(KeysOfAServer, AFileThatEverybodyMayReadIsNamed) {
  const auto warning = [&](std::filesystem::perms mode) {
    std::filesystem::permissions(file_, mode);
    const std::vector<std::string> arguments = serving({"--api-key-file", file_.string()});
    return run_augur(arguments, {.signal = SIGTERM, .signal_after_bytes = 20}).err;
  };
  using std::filesystem::perms;
  const auto own = perms::owner_read | perms::owner_write;
  const std::string said = file_.string() + ": everybody on this machine may read the keys";
  EXPECT_THAT(warning(own | perms::others_read), HasSubstr("augur: warning: " + said));
  EXPECT_THAT(warning(own | perms::group_read), Not(HasSubstr("may read the keys")));
}

/// Whoever may list processes does not see keys.
TEST_F(KeysOfAServer, KeysAreNotSeenAmongTheArguments) {
  RunningAugur server(serving({"--api-key", "SECRET1", "--api-key=bob:SECRET2", "--metrics-key", "SECRET3"}));
  const std::uint16_t port = server.port();
  ASSERT_NE(port, 0) << server.err();
  std::ifstream file("/proc/" + std::to_string(server.pid()) + "/cmdline", std::ios::binary);
  const std::string seen{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(seen, HasSubstr("--api-key"));
  EXPECT_THAT(seen, Not(HasSubstr("SECRET")));
  EXPECT_EQ(status(port, "SECRET1"), 200);
  EXPECT_EQ(status(port, "SECRET2"), 200);
}

/// A server that was started by hand ends with its terminal, as programs do.
TEST_F(KeysOfAServer, ATerminalThatGoesAwayEndsIt) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(::grantpt(terminal), 0);
  ASSERT_EQ(::unlockpt(terminal), 0);
  const int own = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(own, 0);
  RunningAugur server(serving({"--api-key-file", file_.string()}), {}, own);
  ASSERT_NE(server.port(), 0) << server.err();
  server.signal(SIGHUP);
  const auto begun = std::chrono::steady_clock::now();
  while (server.err().find("keys were read") == std::string::npos) {
    ASSERT_LT(std::chrono::steady_clock::now() - begun, testing_support::kForEver);
    std::this_thread::yield();
  }
  ::close(own);
  ::close(terminal);
  EXPECT_EQ(server.wait().code, 0);
}

}  // namespace
}  // namespace augur::test
