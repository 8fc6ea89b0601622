#pragma once
#include <sys/types.h>

#include <atomic>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/temporary_file.h"

namespace augur {

/// What another engine's server runs with: the variables of its command.
struct PeerSettings {
  std::string model;       ///< MODEL
  std::string draft = {};  ///< DRAFT: a draft model; empty: none
  int threads = 1;         ///< THREADS
  int parallel = 1;        ///< PARALLEL: requests at a time
};

/// Another engine's server in a process of its own. Between requests its processes are stopped (SIGSTOP), so
/// that threads which spin while they wait take no time from what is measured next. They end with this
/// process, however it ends. One thread at a time.
class PeerServer {
 public:
  /// Runs `command` by /bin/sh in a process group of its own, with the settings and a free PORT in its
  /// environment, and waits until it answers (GET /health, or /v1/models). Error with the end of what it
  /// printed when it ends before, or isn't ready after ten minutes.
  PeerServer(const std::string& name, const std::string& command, const PeerSettings& settings,
             const std::atomic<bool>* cancel);
  ~PeerServer();
  PeerServer(const PeerServer&) = delete;
  PeerServer& operator=(const PeerServer&) = delete;

  /// Lets it work while it lives.
  class Awake {
   public:
    explicit Awake(const PeerServer& server);
    ~Awake();
    Awake(const Awake&) = delete;
    Awake& operator=(const Awake&) = delete;

   private:
    const PeerServer& server_;
  };

  std::string url() const;

  /// POST to `path`; the answer's JSON. Error naming the peer for anything but status 200 with a JSON object.
  nlohmann::json post(const std::string& path, const nlohmann::json& body);

 private:
  /// A pipe whose end that this process holds closes with it.
  class Lifeline {
   public:
    Lifeline();
    ~Lifeline();
    Lifeline(const Lifeline&) = delete;
    Lifeline& operator=(const Lifeline&) = delete;
    int theirs() const { return ends_[0]; }
    void hand_over();  ///< the other process has its end

   private:
    int ends_[2];
  };

  void wait_until_ready(const std::atomic<bool>* cancel);
  bool answers() const;
  bool ended();
  void signal(int which) const;
  void end();
  std::string said() const;  ///< the last lines of the log

  std::string name_;
  TemporaryFile log_;
  int port_ = 0;
  Lifeline lifeline_;
  pid_t process_ = -1;  ///< and its group; -1: has ended
};

}  // namespace augur
