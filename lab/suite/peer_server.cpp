#include "lab/suite/peer_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <httplib.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "files/json_reader.h"

namespace augur {
namespace {

using nlohmann::json;

constexpr double kReadyMs = 600e3;  // large models take minutes to load
constexpr auto kPoll = std::chrono::milliseconds(50);
constexpr auto kGrace = std::chrono::seconds(5);
constexpr std::size_t kShownLog = 1500;

/// A port that nobody uses at the moment.
int free_port() {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  const bool bound = probe >= 0 && ::bind(probe, any, size) == 0 && ::getsockname(probe, any, &size) == 0;
  const int problem = errno;
  if (probe >= 0) ::close(probe);
  if (!bound) throw Error("no free port on 127.0.0.1: {}", std::strerror(problem));
  return ntohs(address.sin_port);
}

/// This process's environment with some variables set.
std::vector<std::string> environment_with(const std::vector<std::string>& settings) {
  std::vector<std::string> all = settings;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    const bool set = std::any_of(settings.begin(), settings.end(),
                                 [&](const std::string& setting) { return setting.starts_with(name); });
    if (!set) all.emplace_back(text);
  }
  return all;
}

/// Ends the process group when the pipe's other end is closed, however its holder ended; a group whose
/// members are stopped then, and which nobody is left to wake, gets SIGHUP and SIGCONT from the system.
constexpr const char* kGuard = "(read -r _; kill -KILL 0) <&9 & exec 9<&-\n";
constexpr int kGuardedBy = 9;

pid_t start(const std::string& command, std::vector<std::string> environment, const TemporaryFile& log,
            int lifeline) {
  std::vector<char*> variables;
  for (std::string& variable : environment) variables.push_back(variable.data());
  variables.push_back(nullptr);
  std::string shell = "sh";
  std::string option = "-c";
  std::string text = kGuard + command;
  char* arguments[] = {shell.data(), option.data(), text.data(), nullptr};

  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, log.descriptor(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, lifeline, kGuardedBy);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  pid_t process = -1;
  const int problem = ::posix_spawn(&process, "/bin/sh", &files, &attributes, arguments, variables.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (problem != 0) throw Error("/bin/sh: {}", std::strerror(problem));
  return process;
}

}  // namespace

PeerServer::Lifeline::Lifeline() {
  if (::pipe2(ends_, O_CLOEXEC) != 0) throw Error("a pipe to another engine: {}", std::strerror(errno));
}

PeerServer::Lifeline::~Lifeline() {
  hand_over();
  ::close(ends_[1]);
}

void PeerServer::Lifeline::hand_over() {
  if (ends_[0] >= 0) ::close(ends_[0]);
  ends_[0] = -1;
}

PeerServer::PeerServer(const std::string& name, const std::string& command, const PeerSettings& settings,
                       const std::atomic<bool>* cancel)
    : name_(name), log_(std::filesystem::temp_directory_path() / "augur-peer", ".log"), port_(free_port()) {
  process_ = start(
      command,
      environment_with({fmt::format("PORT={}", port_), fmt::format("MODEL={}", settings.model),
                        fmt::format("DRAFT={}", settings.draft), fmt::format("THREADS={}", settings.threads),
                        fmt::format("PARALLEL={}", settings.parallel)}),
      log_, lifeline_.theirs());
  lifeline_.hand_over();
  try {
    wait_until_ready(cancel);
  } catch (...) {
    end();
    throw;
  }
  signal(SIGSTOP);
}

PeerServer::~PeerServer() {
  end();
}

void PeerServer::wait_until_ready(const std::atomic<bool>* cancel) {
  const Stopwatch watch;
  while (!answers()) {
    if (ended()) throw Error("{}: its server ended before it was ready; it said:\n{}", name_, said());
    if (watch.ms() > kReadyMs) throw Error("{}: its server does not answer on port {}", name_, port_);
    if (cancel != nullptr && cancel->load()) return;
    std::this_thread::sleep_for(kPoll);
  }
}

bool PeerServer::answers() const {
  httplib::Client client("127.0.0.1", port_);
  for (const char* path : {"/health", "/v1/models"}) {
    const auto answer = client.Get(path);
    if (answer && answer->status == 200) return true;
    if (answer && answer->status != 404) return false;  // still loading
  }
  return false;
}

PeerServer::Awake::Awake(const PeerServer& server) : server_(server) {
  server_.signal(SIGCONT);
}

PeerServer::Awake::~Awake() {
  server_.signal(SIGSTOP);
}

std::string PeerServer::url() const {
  return fmt::format("http://127.0.0.1:{}", port_);
}

json PeerServer::post(const std::string& path, const json& body) {
  const auto answer = [&] {
    const Awake awake(*this);
    httplib::Client client("127.0.0.1", port_);
    client.set_read_timeout(std::chrono::hours(1));
    return client.Post(path.c_str(), body.dump(), "application/json");
  }();
  if (!answer) {
    throw Error("{}: POST {}: {}; its server said:\n{}", name_, path, httplib::to_string(answer.error()),
                said());
  }
  if (answer->status != 200)
    throw Error("{}: POST {}: status {}: {}", name_, path, answer->status, answer->body);
  json object = parse_json(answer->body, name_ + ": POST " + path);
  if (!object.is_object()) throw Error("{}: POST {}: expected a JSON object", name_, path);
  return object;
}

bool PeerServer::ended() {
  if (process_ >= 0 && ::waitpid(process_, nullptr, WNOHANG) == process_) process_ = -1;
  return process_ < 0;
}

void PeerServer::signal(int which) const {
  if (process_ >= 0) ::kill(-process_, which);
}

void PeerServer::end() {
  signal(SIGTERM);
  signal(SIGCONT);
  const Stopwatch watch;
  while (!ended()) {
    if (watch.ms() > std::chrono::duration<double, std::milli>(kGrace).count()) signal(SIGKILL);
    std::this_thread::sleep_for(kPoll);
  }
}

std::string PeerServer::said() const {
  std::ifstream in(log_.path(), std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  return text.size() > kShownLog ? "..." + text.substr(text.size() - kShownLog) : text;
}

}  // namespace augur
