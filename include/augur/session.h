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

/// What the plan of one request may ask for at most: the others wait for its drafts.
struct DraftLimits {
  int nodes = 1 << 20;  ///< verified in a step: n-max, size
  int depth = 1 << 20;
  int topk = 1 << 20;
};

struct SessionOptions {
  int parallel = 16;  ///< requests that are decoded at once, 1 to Engine::kMostParallel
  /// Requests that may wait for their turn, 1 or more. Who has most there gives way to others when it is
  /// full.
  int queue = 1024;
  int compilers = 2;  ///< threads that compile requests' grammars, 1 to kMostCompilers
  static constexpr int kMostCompilers = 64;
  /// Requests whose own plan asks for more than both these and the engine's plan are refused (field
  /// "speculative").
  DraftLimits drafts;
  /// SubmitOptions::priority decides between clients, too, before anything else does. Otherwise it orders
  /// the requests of one client.
  bool priorities_across_clients = false;
  /// By what share of its time the prompts of new requests may lengthen a step of those that are writing. 0:
  /// as little as possible; infinity: a step takes a whole chunk of a prompt.
  double prompt_share = 1.0;
  /// Bytes that running requests and texts that are kept may take together: their caches and their drafters',
  /// rows that wait for drafters, and what look-ups learn. Requests beyond it wait, the newest first, and go
  /// on with the same tokens; a request that would not fit alone ends where its memory does. Where the system
  /// has less when it comes to that, they wait in the same way. Less than a page of tokens takes is an error.
  /// 0: `memory_share` of what is available when the session opens.
  std::int64_t memory = 0;
  double memory_share = 0.8;  ///< above 0, at most 1
  /// Of these, what texts that have been read or written may take, so that requests that begin like them need
  /// not read them again. Those used least recently go first. 0: none are kept.
  std::int64_t cache_bytes = std::int64_t{8} << 30;
};

/// Whose a text is. What is kept of texts and what look-ups learn from them is for requests of the same owner
/// alone: no other can tell whether it is there. All that have neither are one.
struct TextOwner {
  std::string tenant;  ///< SubmitOptions::tenant
  std::string salt;    ///< Request::cache_salt: tells apart within the tenant

  friend bool operator==(const TextOwner&, const TextOwner&) = default;
};

struct SubmitOptions {
  int priority = 0;  ///< of the client's, the highest begins first (priorities_across_clients)
  /// The client that has the fewest requests running is next. Where one has two more than another that waits,
  /// its last one gives its place, and goes on with the same tokens later.
  std::string client;
  std::string tenant;  ///< whose texts it shares (TextOwner); any bytes
  /// Seconds from now in which it has to end; it is an error then, with the tokens it has got. 0: as long as
  /// it takes.
  double seconds = 0;
  /// Result::warnings, where there are some: once, before the first token.
  std::function<void(const std::vector<std::string>&)> on_warnings;
  TokenCallback on_token;  ///< the request's tokens in order, each as soon as it is certain
  /// The result, once, after the last token. Whatever it throws makes the result an error.
  std::function<void(const Result&)> on_result;
};

/// One submitted request. Copies stand for the same one; it goes on when no one holds it. Thread-safe.
class Ticket {
 public:
  /// Ends the request as Cancelled, with the tokens it has got by then, at the next step at the latest. Does
  /// nothing when it has ended.
  void cancel();
  bool ended() const;
  /// Blocks until the request has ended. finish_reason Error where it was refused, or anything was thrown for
  /// it. Not from a callback of the session, whose thread it would wait for.
  Result wait() const;
  /// Result::warnings, from when the request's grammar has been compiled, so before its first token.
  std::vector<std::string> warnings() const;

 private:
  friend class Session;
  struct State;
  explicit Ticket(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

struct SessionLoad {
  std::size_t running = 0;
  std::size_t waiting = 0;       ///< for a place, or for memory
  std::int64_t steps = 0;        ///< that the batch has made so far
  std::int64_t preemptions = 0;  ///< of requests that had to wait again, for memory or for others' turn
  std::int64_t memory = 0;       ///< SessionOptions::memory, as it was chosen
  std::int64_t memory_in_use = 0;
  std::int64_t memory_running = 0;  ///< of these, of requests that run; kept texts may share them
  int page_tokens = 0;              ///< memory is taken in pages of so many tokens,
  std::int64_t page_bytes = 0;      ///< which take so much for the model alone, without drafters
  bool keeps_texts = false;         ///< SessionOptions::cache_bytes is not 0
  std::int64_t cache_bytes_in_use =
      0;  ///< of these, of texts that are kept; pages of running requests may be among them
  std::int64_t prompt_tokens = 0;    ///< that were looked for among kept texts so far
  std::int64_t cached_tokens = 0;    ///< of these, that needed not be read again
  std::int64_t drafted_tokens = 0;   ///< and verified, of all requests that have ended
  std::int64_t accepted_tokens = 0;  ///< of these
};

/// What became of a text's file.
struct TextFile {
  std::int64_t tokens = 0;  ///< of the text
  std::int64_t bytes = 0;   ///< of the file
  double ms = 0;
  std::string error;  ///< why it failed; empty: it has not
};

/// Serves requests of many threads in one batch (continuous batching): a request joins between two steps, as
/// soon as there is a place, and leaves when it ends. Tokens do not depend on who shares the batch, on the
/// order of arrival, or on cancellations: they are those of Engine::generate(). Without requests it sleeps.
///
/// Callbacks are called on the session's own thread, which does all the work: they should return soon, and
/// may submit and cancel. Thread-safe, but for construction and destruction, during which nobody else uses
/// it.
class Session {
 public:
  /// Uses `engine`, which outlives it. Meanwhile others may call the engine's const functions, from any
  /// thread, and nothing else of it. Measures what drafting costs
  /// where that is not known yet, so that it need not be done between the steps of others. Error for options
  /// out of range.
  explicit Session(Engine& engine, const SessionOptions& options = {});
  /// Cancels what has not ended, and returns when it has.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Takes a request in and returns at once. A request that is not as it must be ends with an error.
  /// QueueFull where too many wait; std::runtime_error after drain(), and for a request with a cancel flag of
  /// its own.
  Ticket submit(Request request, SubmitOptions options = {});
  /// Writes what is kept of a text's beginning, as far as it is: tokens, the model's and the drafters' state
  /// of them. `done` is called once, on a thread of the session's, like those of the functions below.
  using TextFileCallback = std::function<void(const TextFile&)>;
  void save_text(std::vector<TokenId> tokens, std::string path, TextFileCallback done, TextOwner owner = {});
  /// Keeps a text that save_text() has written, for the same model and formats: requests of `owner` that
  /// begin like it have the same tokens as if they read it. What is damaged, of another model, or more than
  /// the kept texts may take, is an error.
  void load_text(std::string path, TextFileCallback done, TextOwner owner = {});
  /// Forgets what is kept of a text, of its beginnings, and of what continues it. TextFile::tokens: of the
  /// longest.
  void forget_text(std::vector<TokenId> tokens, TextFileCallback done, TextOwner owner = {});

  /// Calls `done` on the session's own thread, between two steps: whoever waits for that knows it alive.
  /// `done` throws nothing.
  void ping(std::function<void()> done);
  /// Takes in no more requests, and returns when all have ended; what has not within `seconds` is cancelled.
  /// Returns how many that were. Not from a callback.
  std::size_t drain(double seconds = std::numeric_limits<double>::infinity());
  SessionLoad load() const;

 private:
  friend struct SessionAccess;  // the C interface
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace augur
