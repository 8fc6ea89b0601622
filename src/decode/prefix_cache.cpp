#include "decode/prefix_cache.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

namespace augur {
namespace {

std::int64_t common(std::span<const TokenId> a, std::span<const TokenId> b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

std::int64_t known(const PrefixCache::Entry& entry, std::int64_t tokens,
                   std::span<const void* const> drafters) {
  for (const void* group : drafters) {
    const PrefixCache::Drafted* const drafted = entry.drafted_by(group);
    tokens = std::min(tokens, drafted == nullptr ? 0 : drafted->rows.length());
  }
  if (!entry.target.holds(tokens)) return 0;
  for (const void* group : drafters) {
    if (tokens > 0 && !entry.drafted_by(group)->rows.holds(tokens)) return 0;
  }
  return tokens;
}

/// Calls call(address, bytes) for every page, and every block of features that wait.
template <class Call>
void for_blocks(const PrefixCache::Entry& entry, const Call& call) {
  entry.target.for_pages(call);
  for (const PrefixCache::Drafted& drafted : entry.drafters) {
    drafted.rows.cache.for_pages(call);
    drafted.rows.features.for_blocks(call);
  }
}

std::int64_t waiting_token_bytes(const PrefixCache::Entry& entry) {
  std::int64_t bytes = 0;
  for (const PrefixCache::Drafted& drafted : entry.drafters) {
    bytes += std::ssize(drafted.rows.tokens) * static_cast<std::int64_t>(sizeof(TokenId));
  }
  return bytes;
}

}  // namespace

const PrefixCache::Drafted* PrefixCache::Entry::drafted_by(const void* group) const {
  for (const Drafted& drafted : drafters) {
    if (drafted.group == group) return &drafted;
  }
  return nullptr;
}

/// Whether `text` holds all that `as`, of a beginning of it, does.
bool PrefixCache::knows_as_much(const Entry& entry, const Entry& as) {
  // A text is asked for a token less than it has.
  if (!entry.target.holds(std::max<std::int64_t>(0, as.target.length() - 1))) return false;
  return std::all_of(as.drafters.begin(), as.drafters.end(), [&](const Drafted& drafted) {
    const Drafted* const same = entry.drafted_by(drafted.group);
    return same != nullptr && same->rows.length() >= drafted.rows.length() &&
           same->rows.holds(std::max<std::int64_t>(0, drafted.rows.length() - 1));
  });
}

/// Of a beginning of a longer text that does not know as much: whether it is far from the one before it.
bool PrefixCache::worth_keeping(const Entries& entries, Entries::const_iterator beginning) {
  const std::int64_t apart = std::max<std::int64_t>(256, beginning->second.target.state_slots());
  const std::int64_t before =
      beginning == entries.begin() ? 0 : common(std::prev(beginning)->first, beginning->first);
  return std::ssize(beginning->first) - before >= apart;
}

void PrefixCache::keep(const std::string& owner, std::span<const TokenId> tokens, Entry entry, Keep what) {
  try {
    insert(owner, tokens, std::move(entry), what);
  } catch (const std::bad_alloc&) {
    owners_.clear();
    count_ = 0;
    holders_.clear();
    block_bytes_ = 0;
    token_bytes_ = 0;
  }
}

void PrefixCache::insert(const std::string& owner, std::span<const TokenId> tokens, Entry entry, Keep what) {
  assert(std::ssize(tokens) == entry.target.length());
  if (tokens.empty()) return;
  entry.used = ++uses_;
  std::vector<TokenId> key(tokens.begin(), tokens.end());
  const auto place = owners_.try_emplace(owner).first;
  Entries& entries = place->second;
  auto next = entries.lower_bound(key);
  if (next != entries.end() && common(key, next->first) == std::ssize(key)) {
    if (knows_as_much(next->second, entry)) {
      next->second.used = uses_;
      return;
    }
    if (next->first == key) next = drop(entries, next);
  }
  while (next != entries.begin()) {
    const auto before = std::prev(next);
    const bool continued = common(key, before->first) == std::ssize(before->first);
    if (!continued) break;
    if (!knows_as_much(entry, before->second)) {
      const bool last = what == Keep::Text && entry.target.keeps_states();
      if (last || entry.target.holds(std::ssize(before->first)) || worth_keeping(entries, before)) break;
    }
    next = drop(entries, before);
  }
  count_in(entries.emplace_hint(next, std::move(key), std::move(entry))->second);
  ++count_;
  limit(most_bytes_);
}

void PrefixCache::limit(std::int64_t bytes) {
  most_bytes_ = bytes;
  while (this->bytes() > most_bytes_ && count_ > 0) drop_oldest();
}

PrefixCache::Hit PrefixCache::find(const std::string& owner, std::span<const TokenId> prompt,
                                   std::span<const void* const> drafters, bool count) {
  if (count) counts_.queried_tokens += std::ssize(prompt);
  Hit best;
  const auto own = owners_.find(owner);
  if (own == owners_.end()) return best;
  Entries& entries = own->second;
  Entry* found = nullptr;
  // False: farther texts on this side have no more in common with the prompt.
  const auto consider = [&](Entries::value_type& entry) {
    const std::int64_t most = common(prompt, entry.first) - 1;
    if (most <= best.tokens) return false;
    if (const std::int64_t tokens = known(entry.second, most, drafters); tokens > best.tokens) {
      best = {.entry = &entry.second, .tokens = tokens};
      found = &entry.second;
    }
    return true;
  };
  const auto place = entries.lower_bound(std::vector<TokenId>(prompt.begin(), prompt.end()));
  for (auto next = place; next != entries.end() && consider(*next); ++next) {
  }
  for (auto before = place; before != entries.begin() && consider(*std::prev(before)); --before) {
  }
  if (found != nullptr) found->used = ++uses_;
  if (count) counts_.known_tokens += best.tokens;
  return best;
}

void PrefixCache::count_in(const Entry& entry) {
  for_blocks(entry, [&](const std::byte* block, std::int64_t bytes) {
    if (++holders_[block] == 1) block_bytes_ += bytes;
  });
  token_bytes_ += waiting_token_bytes(entry);
}

PrefixCache::Entries::iterator PrefixCache::drop(Entries& entries, Entries::iterator entry) {
  for_blocks(entry->second, [&](const std::byte* block, std::int64_t bytes) {
    const auto holders = holders_.find(block);
    if (--holders->second > 0) return;
    holders_.erase(holders);
    block_bytes_ -= bytes;
  });
  token_bytes_ -= waiting_token_bytes(entry->second);
  --count_;
  return entries.erase(entry);
}

void PrefixCache::forget_empty(Owners::iterator owner) {
  if (owner->second.empty()) owners_.erase(owner);
}

PrefixCache::Hit PrefixCache::longest(const std::string& owner, std::span<const TokenId> tokens) const {
  Hit best;
  const auto own = owners_.find(owner);
  if (own == owners_.end()) return best;
  for (const auto& [key, entry] : own->second) {
    const std::int64_t count = known(entry, common(key, tokens), {});
    if (count > best.tokens) best = {&entry, count};
  }
  return best;
}

std::int64_t PrefixCache::forget(const std::string& owner, std::span<const TokenId> tokens) {
  std::int64_t longest = 0;
  const auto own = owners_.find(owner);
  if (own == owners_.end()) return longest;
  Entries& entries = own->second;
  for (auto entry = entries.begin(); entry != entries.end();) {
    const std::int64_t size = std::ssize(entry->first);
    if (common(entry->first, tokens) < std::min(size, std::max<std::int64_t>(1, std::ssize(tokens) - 1))) {
      ++entry;
      continue;
    }
    longest = std::max(longest, size);
    entry = drop(entries, entry);
  }
  forget_empty(own);
  return longest;
}

void PrefixCache::drop_oldest() {
  const auto earlier = [](const auto& a, const auto& b) { return a.second.used < b.second.used; };
  auto owner = owners_.begin();
  auto oldest = std::min_element(owner->second.begin(), owner->second.end(), earlier);
  for (auto other = std::next(owner); other != owners_.end(); ++other) {
    const auto its = std::min_element(other->second.begin(), other->second.end(), earlier);
    if (its->second.used < oldest->second.used) {
      owner = other;
      oldest = its;
    }
  }
  drop(owner->second, oldest);
  forget_empty(owner);
}

}  // namespace augur
