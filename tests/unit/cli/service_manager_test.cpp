#include "cli/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "cli/watchdog.h"
#include "support/temporary_folder.h"

namespace augur::cli {
namespace {

/// A variable of the environment as long as it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

/// What a manager hears.
class Manager {
 public:
  /// `name`: a path, or '@' and an abstract name.
  explicit Manager(const std::string& name) : socket_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name.front() == '@') address.sun_path[0] = '\0';
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), bytes), 0);
  }
  ~Manager() { ::close(socket_); }
  std::string next() {
    char text[256];
    const ssize_t got = ::recv(socket_, text, sizeof(text), MSG_DONTWAIT);
    return got < 0 ? "nothing" : std::string(text, static_cast<std::size_t>(got));
  }

 private:
  int socket_;
};

TEST(ServiceManager, IsToldAtAPathAndAtAnAbstractName) {
  const testing_support::TemporaryFolder folder;
  const std::string path = (folder.path() / "notify").string();
  for (const std::string& name : {path, "@augur-test-" + std::to_string(::getpid())}) {
    SCOPED_TRACE(name);
    Manager manager(name);
    const Variable socket("NOTIFY_SOCKET", name);
    const ServiceManager ours;
    EXPECT_EQ(ours.watchdog(), std::nullopt);
    ours.tell("READY=1");
    ours.tell("STOPPING=1");
    EXPECT_EQ(manager.next(), "READY=1");
    EXPECT_EQ(manager.next(), "STOPPING=1");
  }
}

TEST(ServiceManager, IsNobodyWithoutTheVariable) {
  ServiceManager().tell("READY=1");
  const Variable nowhere("NOTIFY_SOCKET", "/no/such/socket");
  const ServiceManager lost;
  testing::internal::CaptureStderr();
  lost.tell("READY=1");
  lost.tell("STOPPING=1");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(
      said,
      "augur: warning: NOTIFY_SOCKET /no/such/socket cannot be told READY=1: No such file or directory\n");
}

TEST(ServiceManager, ReadsWhatTheWatchdogWants) {
  const Variable time("WATCHDOG_USEC", "3000000");
  EXPECT_EQ(ServiceManager().watchdog(), std::chrono::seconds(3));
  {
    const Variable of("WATCHDOG_PID", std::to_string(::getpid()));
    EXPECT_EQ(ServiceManager().watchdog(), std::chrono::seconds(3));
  }
  {
    const Variable of("WATCHDOG_PID", "1");
    EXPECT_EQ(ServiceManager().watchdog(), std::nullopt) << "it is meant for another process";
  }
  const Variable nonsense("WATCHDOG_USEC", "soon");
  EXPECT_EQ(ServiceManager().watchdog(), std::nullopt);
}

TEST(Watchdog, IsSilentAsLongAsOneThreadIs) {
  std::function<void()> late;
  int asked = 0;
  Watchdog watchdog({[&](const std::function<void()>& alive) { alive(); },
                     [&](std::function<void()> alive) {
                       ++asked;
                       late = std::move(alive);
                     }});
  EXPECT_TRUE(watchdog.look()) << "nobody was asked yet";
  EXPECT_FALSE(watchdog.look());
  EXPECT_FALSE(watchdog.look());
  EXPECT_EQ(asked, 1);
  late();
  EXPECT_TRUE(watchdog.look());
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace augur::cli
