#pragma once
#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "augur/session.h"

namespace augur::python {

/// A TokenEvent that owns what it names.
struct Piece {
  TokenId token = -1;
  std::string text;
  std::string proposer;
  int depth = 0;
  std::optional<TokenLogprobs> logprobs;
};

/// A DraftRound that owns what it names.
struct Round : RoundFigures {
  struct Node {
    TokenId token = -1;
    int parent = -1;
    std::string proposer;
    double probability = 0;
    bool accepted = false;
  };
  std::vector<Node> nodes;
};

/// What a request is asked to tell while it runs.
struct Told {
  bool pieces = false;
  bool rounds = false;
};

/// One submitted request. The session's thread puts what happens into it and never waits for Python; Python's
/// threads wait here without the interpreter's lock, and look for signals meanwhile. The request is cancelled
/// when this is destroyed before it has ended. In a child of fork() waiting is an Error of kind Misuse.
/// Thread-safe.
class Generation {
 public:
  /// SubmitOptions::on_result is called before anyone here sees the end.
  Generation(Session& session, Request request, SubmitOptions options, Told told);
  ~Generation();
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  /// Waits until there are pieces or the request has ended, and takes the pieces: none at the end only.
  std::vector<Piece> take();
  /// The pieces that are there, without waiting.
  std::vector<Piece> take_ready();
  /// Waits until the request has ended: true, or false after `seconds`.
  bool wait(double seconds);
  bool ended() const;
  void cancel();
  /// A descriptor that can be read whenever there are new pieces, and at the end; made by the first call,
  /// closed with this object.
  int descriptor();
  /// Makes descriptor() unreadable until something new happens.
  void clear_descriptor();

  /// Of a request that has ended.
  const Result& result() const;
  /// In order; of a request that has ended.
  const std::vector<Round>& rounds() const;

 private:
  struct Shared;
  void check_process() const;
  template <class Condition>
  bool wait_until(double seconds, Condition condition);

  std::shared_ptr<Shared> shared_;
  std::optional<Ticket> ticket_;  ///< always set after construction
  pid_t process_;
};

}  // namespace augur::python
