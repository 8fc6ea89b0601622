#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "augur/engine.h"
#include "augur/error.h"

namespace augur {
struct SessionAccess;
inline namespace abi1 {

/// Most that the plan of one request may ask for; all requests of a batch wait for its drafts.
struct DraftLimits {
  int nodes = 1 << 20;  ///< nodes verified in a step: n-max, size
  int depth = 1 << 20;
  int topk = 1 << 20;
};

struct SessionOptions {
  int parallel = 16;  ///< requests that are decoded at once, 1 to Engine::kMostParallel
  /// Requests that may wait for their turn, 1 or more. When the queue is full, the client with the most
  /// waiting requests loses one to a client with fewer.
  int queue = 1024;
  int compilers = 2;  ///< threads that compile requests' grammars, 1 to kMostCompilers
  static constexpr int kMostCompilers = 64;
  /// A request is refused (field "speculative") if its own plan asks for more than these and also for more
  /// than the engine's plan.
  DraftLimits drafts;
  /// SubmitOptions::priority decides first, also between clients. If false, it only orders the requests of
  /// one client.
  bool priorities_across_clients = false;
  /// How much new prompts may lengthen a step of requests that generate, as a share of the step's time. 0: as
  /// little as possible; infinity: a step takes a whole chunk of a prompt.
  double prompt_share = 1.0;
  /// Most bytes of running requests and kept texts together: their caches, their drafters' caches, rows that
  /// wait for drafters, and what look-ups learn. If more is needed, requests wait, the newest first, and
  /// continue later with the same tokens; a request that does not fit even alone ends when its memory is
  /// full. The same happens if the system has less memory than this. A value smaller than a page of tokens is
  /// an error. 0: `memory_share` of the memory that is available when the session opens.
  ///
  /// This is a limit; memory is taken as texts grow, and never more than `parallel` texts of the model's
  /// context and `cache_bytes` need. The defaults leave most of the machine to the rest of the program.
  /// `augur serve`, which has the machine to itself, takes a share of 0.8 and keeps 8 GiB of texts.
  std::int64_t memory = 0;
  double memory_share = 0.25;  ///< above 0, at most 1
  /// Part of `memory` for kept texts, whose beginnings later requests need not read again. The least recently
  /// used are dropped first. 0: no text is kept.
  std::int64_t cache_bytes = std::int64_t{1} << 30;
};

/// The owner of a text. Only requests of the same owner use kept texts and what look-ups learn from them;
/// others cannot find out whether they exist. Requests with neither field have the same owner.
struct TextOwner {
  std::string tenant;  ///< SubmitOptions::tenant
  std::string salt;    ///< Request::cache_salt: distinguishes owners within the tenant

  friend bool operator==(const TextOwner&, const TextOwner&) = default;
};

struct SubmitOptions {
  /// among the client's requests, the highest begins first (see priorities_across_clients)
  int priority = 0;
  /// The client with the fewest running requests is next. If a client has two more running than one that
  /// waits, its last request gives up its place, and continues later with the same tokens.
  std::string client;
  std::string tenant;  ///< tenant of TextOwner; any bytes
  /// Seconds from now after which the request ends with an error and the tokens that it has. 0: no limit.
  double seconds = 0;
  /// Called once before the first token with Result::warnings, if there are any.
  std::function<void(const std::vector<std::string>&)> on_warnings;
  TokenCallback on_token;  ///< the request's tokens in order, each as soon as it is certain
  /// Called once with the result, after the last token. If it throws, the result becomes an error.
  std::function<void(const Result&)> on_result;
};

/// One submitted request. Copies refer to the same request; it continues if no ticket is left. Calls of a
/// ticket that has been moved from are an Error of kind Misuse. Thread-safe.
class Ticket {
 public:
  /// Ends the request as Cancelled with the tokens that it has, at the next step at the latest. Does nothing
  /// if it has ended.
  void cancel();
  bool ended() const;
  /// Blocks until the request has ended. finish_reason is Error if it was refused or something was thrown for
  /// it. Must not be called from a callback of the session, because it would wait for its own thread.
  Result wait() const;
  /// Result::warnings; complete when the request's grammar has been compiled, so before its first token.
  std::vector<std::string> warnings() const;

 private:
  friend class Session;
  struct State;
  explicit Ticket(std::shared_ptr<State> state) : state_(std::move(state)) {}
  State& usable() const;
  std::shared_ptr<State> state_;
};

struct SessionLoad {
  std::size_t running = 0;
  std::size_t waiting = 0;  ///< requests that wait for a place or for memory
  std::int64_t steps = 0;   ///< that the batch has made so far
  /// times that a running request had to wait again, for memory or for another client's turn
  std::int64_t preemptions = 0;
  std::int64_t memory = 0;  ///< SessionOptions::memory, or what was chosen for 0
  std::int64_t memory_in_use = 0;
  std::int64_t memory_running = 0;      ///< of memory_in_use, by running requests; kept texts may share it
  int page_tokens = 0;                  ///< tokens of a page of memory
  std::int64_t page_bytes = 0;          ///< bytes of a page for the model, without drafters
  bool keeps_texts = false;             ///< SessionOptions::cache_bytes is not 0
  std::int64_t cache_bytes_in_use = 0;  ///< of memory_in_use, by kept texts; running requests may share it
  std::int64_t prompt_tokens = 0;       ///< tokens of prompts that were looked up among kept texts so far
  std::int64_t cached_tokens = 0;       ///< of prompt_tokens, found
  std::int64_t drafted_tokens = 0;      ///< drafted and verified tokens of all requests that have ended
  std::int64_t accepted_tokens = 0;     ///< of these
};

/// Result of an operation on a text's file.
struct TextFile {
  std::int64_t tokens = 0;  ///< of the text
  std::int64_t bytes = 0;   ///< of the file
  double ms = 0;
  std::string error;  ///< why it failed; empty: it has not
};

/// Serves requests from many threads in one batch (continuous batching): a request joins between two steps as
/// soon as there is a place, and leaves when it ends. Its tokens are those of Engine::generate(); they do not
/// depend on other requests, the order of arrival, or cancellations. Without requests the session's thread
/// sleeps.
///
/// Callbacks run on the session's own thread, which does all the work: they should return soon, and may
/// submit and cancel. Thread-safe, except construction and destruction, during which no other thread may use
/// the session.
class Session {
 public:
  /// Uses `engine`, which must outlive it. Meanwhile only the engine's const functions may be called, from
  /// any thread. Measures the costs of drafting if they are unknown, so that this does not delay requests
  /// later. Error for options out of range.
  explicit Session(Engine& engine, const SessionOptions& options = {});
  /// Cancels running requests, and returns when all have ended.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Accepts a request and returns at once. An invalid request ends with an error. Throws QueueFull if too
  /// many requests wait, and std::runtime_error after drain() or if Request::cancel is set.
  Ticket submit(Request request, SubmitOptions options = {});
  /// Writes the longest kept beginning of a text to a file: its tokens and the caches of the model and the
  /// drafters. `done` is called once, on a thread of the session; so are those of the functions below. It may
  /// be empty. What it throws is dropped.
  using TextFileCallback = std::function<void(const TextFile&)>;
  void save_text(std::vector<TokenId> tokens, std::string path, TextFileCallback done, TextOwner owner = {});
  /// Reads a file of save_text() and keeps its text, for the same model and formats. Requests of `owner` with
  /// the same beginning have the same tokens as if they read the text. A file that is damaged, of another
  /// model, or too large for the kept texts is an error.
  void load_text(std::string path, TextFileCallback done, TextOwner owner = {});
  /// Drops a kept text, its kept beginnings, and kept texts that continue it. TextFile::tokens is the length
  /// of the longest.
  void forget_text(std::vector<TokenId> tokens, TextFileCallback done, TextOwner owner = {});

  /// Calls `done` on the session's own thread between two steps, which shows that the thread works. What it
  /// throws is dropped; an empty one is an error.
  void ping(std::function<void()> done);
  /// Accepts no more requests, and returns when all have ended. Requests still running after `seconds` are
  /// cancelled; returns their number. Must not be called from a callback.
  std::size_t drain(double seconds = std::numeric_limits<double>::infinity());
  SessionLoad load() const;

 private:
  friend struct augur::SessionAccess;  // the C interface
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace abi1
}  // namespace augur
