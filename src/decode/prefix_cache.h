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

/// What was computed of texts, kept for texts that begin alike: the target's keys and values of every token,
/// and what drafters know of them, each by its Drafter::group(). Keys and values do not depend on what
/// computed them, so a text that takes them over goes on with the same bits. Kept texts share pages with each
/// other and with running sequences. Those used least recently go first when the bytes are more than they may
/// be. Every text has an owner, and is there for that one alone; the empty name is an owner like others. One
/// thread at a time.
class PrefixCache {
 public:
  /// `bytes` that pages and waiting rows may take; what several texts share counts once.
  explicit PrefixCache(std::int64_t bytes) : most_bytes_(bytes) {}
  /// So many from here on.
  void limit(std::int64_t bytes);

  struct Drafted {
    const void* group = nullptr;
    SequenceRows::Kept rows;
  };
  struct Entry {
    KvCache target;
    std::vector<Drafted> drafters;
    std::int64_t used = 0;  ///< when, by count of uses

    /// Null: that drafter did not take part.
    const Drafted* drafted_by(const void* group) const;
  };

  enum class Keep {
    Text,
    Beginning,  ///< of a prompt that is still being read
  };
  /// Keeps a text of target.length() tokens. Texts that it continues and knows as much of are dropped; it is
  /// not kept where another continues it and knows as much. Of layers with a window, or a state, a long text
  /// knows little of its beginnings: some of those stay, a few hundred tokens apart, or so far that states do
  /// not take more than what they save; and the last beginning of a whole text, where its next turn may go
  /// on. Where there is no memory for it, all is forgotten.
  void keep(const std::string& owner, std::span<const TokenId> tokens, Entry entry, Keep what = Keep::Text);

  struct Hit {
    const Entry* entry = nullptr;  ///< valid until the next keep() or drop_oldest()
    std::int64_t tokens = 0;       ///< the first so many are known; 0: none, and no entry
  };
  /// The text with the longest beginning in common with `prompt` of which all of `drafters` know that much. A
  /// token less than they have in common counts: what a drafter keeps of a token may depend on the next one.
  /// `count` it in counts().
  Hit find(const std::string& owner, std::span<const TokenId> prompt, std::span<const void* const> drafters,
           bool count = true);

  /// The text with the longest beginning in common with `tokens`, and how much that is; no text: nothing is.
  Hit longest(const std::string& owner, std::span<const TokenId> tokens) const;
  /// Drops the beginnings of a text, and what continues it but for its last token; returns the tokens of the
  /// longest of them; 0: there was none.
  std::int64_t forget(const std::string& owner, std::span<const TokenId> tokens);
  std::int64_t most_bytes() const { return most_bytes_; }

  /// Drops the text that was used least recently. There is one.
  void drop_oldest();

  /// Of the prompts that were looked for, once each: a text that has been suspended reads its own beginning.
  struct Counts {
    std::int64_t queried_tokens = 0;
    std::int64_t known_tokens = 0;
  };
  const Counts& counts() const { return counts_; }

  std::int64_t bytes() const { return block_bytes_ + token_bytes_; }
  /// Of these, those that no pool of pages or of rows counts: the tokens of rows that wait.
  std::int64_t token_bytes() const { return token_bytes_; }
  std::size_t entries() const { return count_; }

 private:
  // In the order of their tokens, so that the texts next to where another would stand have the longest
  // beginnings in common with it: what a radix tree is asked for.
  using Entries = std::map<std::vector<TokenId>, Entry>;
  using Owners = std::map<std::string, Entries>;  ///< without those that have none

  void insert(const std::string& owner, std::span<const TokenId> tokens, Entry entry, Keep what);
  static bool knows_as_much(const Entry& entry, const Entry& as);
  static bool worth_keeping(const Entries& entries, Entries::const_iterator beginning);
  void count_in(const Entry& entry);
  Entries::iterator drop(Entries& entries, Entries::iterator entry);
  void forget_empty(Owners::iterator owner);

  std::int64_t most_bytes_;
  std::int64_t block_bytes_ = 0;  ///< of pages and of blocks of rows
  std::int64_t token_bytes_ = 0;
  std::int64_t uses_ = 0;
  Counts counts_;
  Owners owners_;
  std::size_t count_ = 0;                              ///< of all owners' texts
  std::unordered_map<const std::byte*, int> holders_;  ///< by page or block of rows, texts that hold it
};

}  // namespace augur
