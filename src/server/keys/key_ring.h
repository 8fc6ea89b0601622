#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "server/keys/api_key.h"
#include "server/keys/key_account.h"

namespace augur {

/// Where keys stand.
struct KeySources {
  std::vector<std::string> lines = {};  ///< ApiKey; each may have several
  std::string file = {};                ///< with such lines, which reload() reads again; empty: none
  std::string metrics_key = {};         ///< one without a name that opens the metrics alone; empty: none
};

/// Names whose keys a reload has changed.
struct KeyChange {
  std::vector<std::string> added;
  std::vector<std::string> removed;
  std::vector<std::string> changed;  ///< other keys, or other limits
};

/// The keys that open the server. Thread-safe.
///
/// Keys of one name are one account, so that a new one can be there beside the old one. A key without a name
/// is an account by itself: "key-1", "key-2" and so on, in the order in which they were first read.
class KeyRing {
 public:
  /// Reads all sources; without any, the server is open. Error where a line is none, where a key is another
  /// name's, too, where lines of one name say different things, and where there are sources but no keys.
  /// `clock` outlives it.
  explicit KeyRing(KeySources sources, const Clock& clock = Clock::steady());

  /// Whose a key is.
  struct Holder {
    std::shared_ptr<KeyAccount> account;  ///< null: nobody's
    bool metrics_only = false;            ///< ApiKey
  };
  /// In a time that depends on what was sent, and on how many keys there are (same_key.h).
  Holder find(std::string_view sent) const;
  /// Whether clients need a key, which stays so.
  bool locks() const { return locks_; }
  /// Names whose keys open everything.
  std::size_t accounts() const;

  /// Reads the file again: its keys hold from now on, for requests that come. Error where they cannot be
  /// read or are no keys, or the file is one that can only be read once (a pipe): then all stays as it is.
  /// One thread at a time.
  KeyChange reload();

  /// All accounts that there have been, in no order.
  std::vector<std::shared_ptr<KeyAccount>> all() const;

 private:
  /// All of the same order.
  struct Entries {
    std::vector<std::string> secrets;
    std::vector<KeyLimits> limits;
    std::vector<Holder> holders;
  };

  std::vector<ApiKey> read() const;
  Entries entries_of(std::vector<ApiKey> keys);
  std::shared_ptr<KeyAccount> account_of(const ApiKey& key);
  using ByName = std::map<std::string, std::vector<std::pair<std::string, KeyLimits>>>;
  static ByName by_name(const Entries& entries);

  const KeySources sources_;
  const Clock& clock_;
  const bool locks_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<KeyAccount>> all_;
  int unnamed_ = 0;  ///< accounts
  std::shared_ptr<const Entries> entries_;
};

}  // namespace augur
