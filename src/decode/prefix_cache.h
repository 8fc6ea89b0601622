#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "augur/options.h"
#include "draft/common/sequence_rows.h"
#include "model/kv_cache.h"

namespace augur {

/// Keeps what was computed of texts for later texts with the same beginning: the target's keys and values of
/// every token, and the rows of drafters, each by its Drafter::group(). Keys and values do not depend on how
/// they were batched, so a text that takes them over continues with the same bits. Kept texts share pages
/// with each other and with running sequences. The least recently used ones are dropped when their bytes
/// exceed the limit. Every text has an owner and is found for that owner only; the empty name is an owner
/// like others. For one thread at a time.
class PrefixCache {
 public:
  /// `bytes`: limit of pages and waiting rows together; what several texts share counts once.
  explicit PrefixCache(std::int64_t bytes) : most_bytes_(bytes) {}
  /// Sets the limit to `bytes` and drops what exceeds it.
  void limit(std::int64_t bytes);

  struct Drafted {
    const void* group = nullptr;
    SequenceRows::Kept rows;
  };
  struct Entry {
    KvCache target;
    std::vector<Drafted> drafters;
    std::int64_t used = 0;  ///< the count of uses at its last use

    /// Null if the text was computed without that drafter.
    const Drafted* drafted_by(const void* group) const;
  };

  enum class Keep {
    Text,
    Beginning,  ///< beginning of a prompt that is still being read
  };
  /// Keeps a text of entry.target.length() tokens. Kept texts that are a beginning of it, and for which no
  /// more is known, are dropped; the text itself is not kept if it is such a beginning of a kept one. A long
  /// text with layers that have a window or a state holds little of its beginnings, so some of those stay: a
  /// few hundred tokens apart, or farther, so that states take no more memory than is worth it; and the
  /// longest beginning of a whole text, from which its next turn may continue. If there is no memory for the
  /// text, everything is dropped.
  void keep(const std::string& owner, std::span<const TokenId> tokens, Entry entry, Keep what = Keep::Text);

  struct Hit {
    const Entry* entry = nullptr;  ///< valid until the next keep(), forget(), limit() or drop_oldest()
    std::int64_t tokens = 0;       ///< number of first tokens that are known; 0: none, and `entry` is null
  };
  /// The kept text with the longest beginning in common with `prompt` for which all of `drafters` have rows.
  /// The last common token does not count, because what a drafter keeps of a token may depend on the next
  /// one. `count`: include the look-up in counts().
  Hit find(const std::string& owner, std::span<const TokenId> prompt, std::span<const void* const> drafters,
           bool count = true);

  /// The kept text with the longest beginning in common with `tokens`, and that length; no entry if nothing
  /// is in common.
  Hit longest(const std::string& owner, std::span<const TokenId> tokens) const;
  /// Drops kept texts that are a beginning of `tokens`, and those that continue all but its last token.
  /// Returns the length in tokens of the longest of them; 0: there was none.
  std::int64_t forget(const std::string& owner, std::span<const TokenId> tokens);
  std::int64_t most_bytes() const { return most_bytes_; }

  /// Drops the least recently used text. There must be one.
  void drop_oldest();

  /// Totals over the prompts that were looked up, each counted once (a suspended text that reads its own
  /// beginning again is not).
  struct Counts {
    std::int64_t queried_tokens = 0;
    std::int64_t known_tokens = 0;
  };
  const Counts& counts() const { return counts_; }

  std::int64_t bytes() const { return block_bytes_ + token_bytes_; }
  /// The part of bytes() that no pool of pages or rows counts: the token ids of waiting rows.
  std::int64_t token_bytes() const { return token_bytes_; }
  std::size_t entries() const { return count_; }

 private:
  // Sorted by tokens: the neighbours of the place where a text would be inserted have the longest beginnings
  // in common with it, which is what a radix tree would be used for.
  using Entries = std::map<std::vector<TokenId>, Entry>;
  using Owners = std::map<std::string, Entries>;  ///< owners without texts are not in it

  void insert(const std::string& owner, std::span<const TokenId> tokens, Entry entry, Keep what);
  static bool knows_as_much(const Entry& entry, const Entry& as);
  static bool worth_keeping(const Entries& entries, Entries::const_iterator beginning);
  void count_in(const Entry& entry);
  Entries::iterator drop(Entries& entries, Entries::iterator entry);
  void forget_empty(Owners::iterator owner);

  std::int64_t most_bytes_;
  std::int64_t block_bytes_ = 0;  ///< of pages and blocks of rows
  std::int64_t token_bytes_ = 0;
  std::int64_t uses_ = 0;
  Counts counts_;
  Owners owners_;
  std::size_t count_ = 0;                              ///< texts of all owners
  std::unordered_map<const std::byte*, int> holders_;  ///< number of texts that hold a page or block of rows
};

}  // namespace augur
