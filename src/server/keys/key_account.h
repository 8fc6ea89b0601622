#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/clock.h"
#include "server/keys/api_key.h"

namespace augur {

/// What has been done for the keys of one name so far.
struct KeyCounts {
  std::int64_t requests = 0;          ///< that were let in, of any kind
  std::int64_t refused_answers = 0;   ///< requests: too many answers at once
  std::int64_t refused_tokens = 0;    ///< requests: too many tokens
  std::int64_t prompt_tokens = 0;     ///< of prompts that were begun, those included that were cached
  std::int64_t generated_tokens = 0;  ///< as they are made
  std::int64_t running = 0;           ///< answers that have not ended, now
};

/// The keys of one name: what they take, and may take. It lasts as long as the server, whatever becomes of
/// the keys. Thread-safe.
///
/// Tokens are a bucket (token bucket, as RFC 2697 has it): it holds a minute's tokens and fills at their
/// rate. Whoever finds it empty is refused. What has begun is finished: what it takes beyond stays owed.
class KeyAccount {
 public:
  /// `id` tells it from others without showing a key. `clock` outlives it.
  KeyAccount(std::string name, std::string id, const Clock& clock);

  const std::string& name() const { return name_; }
  const std::string& id() const { return id_; }

  /// What is taken already stays taken.
  void set_limits(const KeyLimits& limits);
  void count_request();
  KeyCounts counts() const;

 private:
  friend class KeyLease;
  void take(std::int64_t answers, std::int64_t prompt_tokens);
  void fill();

  const std::string name_;
  const std::string id_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  KeyLimits limits_;
  double left_ = 0;       ///< tokens in the bucket; negative: they are owed
  double filled_at_ = 0;  ///< in ms, on the clock
  KeyCounts counts_;
};

/// What one request has of its key's limits, until its answers have ended or this does. Thread-safe.
class KeyLease {
 public:
  /// `account` null: there are no keys, and no limits.
  explicit KeyLease(std::shared_ptr<KeyAccount> account) : account_(std::move(account)) {}
  ~KeyLease();
  KeyLease(const KeyLease&) = delete;
  KeyLease& operator=(const KeyLease&) = delete;

  /// Takes so many answers, which have so many tokens of prompts together. Throws a Refusal (429, with
  /// Retry-After) where there is none left, and BadRequest naming `field` for more answers than there may be
  /// at all. Once.
  void take(std::int64_t answers, std::int64_t prompt_tokens, const char* field);
  void prompt_begins(std::int64_t tokens);
  void wrote(std::int64_t tokens);
  /// An answer ends before its prompt began: these tokens are not used.
  void give_back(std::int64_t prompt_tokens);
  void answer_ended();

 private:
  const std::shared_ptr<KeyAccount> account_;
  std::int64_t answers_ = 0;  ///< that have not ended; of the account's mutex
};

}  // namespace augur
