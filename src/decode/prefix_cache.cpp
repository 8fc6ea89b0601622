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

std::int64_t known(const PrefixCache::Text& text, std::int64_t tokens,
                   std::span<const void* const> drafters) {
  for (const void* group : drafters) {
    const PrefixCache::Drafted* const drafted = text.drafted_by(group);
    tokens = std::min(tokens, drafted == nullptr ? 0 : drafted->rows.length());
  }
  if (!text.target.holds(tokens)) return 0;
  for (const void* group : drafters) {
    if (tokens > 0 && !text.drafted_by(group)->rows.holds(tokens)) return 0;
  }
  return tokens;
}

template <class Call>
void for_caches(const PrefixCache::Text& text, const Call& call) {
  call(text.target);
  for (const PrefixCache::Drafted& drafted : text.drafters) call(drafted.rows.cache);
}

/// Of tokens alone: their features lie in blocks that are counted like pages.
std::int64_t waiting_bytes(const PrefixCache::Text& text) {
  std::int64_t bytes = 0;
  for (const PrefixCache::Drafted& drafted : text.drafters) {
    bytes += std::ssize(drafted.rows.tokens) * static_cast<std::int64_t>(sizeof(TokenId));
  }
  return bytes;
}

template <class Call>
void for_blocks(const PrefixCache::Text& text, const Call& call) {
  for (const PrefixCache::Drafted& drafted : text.drafters) drafted.rows.features.for_blocks(call);
}

}  // namespace

const PrefixCache::Drafted* PrefixCache::Text::drafted_by(const void* group) const {
  for (const Drafted& drafted : drafters) {
    if (drafted.group == group) return &drafted;
  }
  return nullptr;
}

/// Whether `text` holds all that `as`, of a beginning of it, does.
bool PrefixCache::knows_as_much(const Text& text, const Text& as) {
  // A text is asked for a token less than it has.
  if (!text.target.holds(std::max<std::int64_t>(0, as.target.length() - 1))) return false;
  return std::all_of(as.drafters.begin(), as.drafters.end(), [&](const Drafted& drafted) {
    const Drafted* const same = text.drafted_by(drafted.group);
    return same != nullptr && same->rows.length() >= drafted.rows.length() &&
           same->rows.holds(std::max<std::int64_t>(0, drafted.rows.length() - 1));
  });
}

/// Of a beginning of a longer text that does not know as much: whether it is far from the one before it.
bool PrefixCache::worth_keeping(const Texts& texts, Texts::const_iterator beginning) {
  constexpr std::int64_t kApart = 256;
  const std::int64_t before =
      beginning == texts.begin() ? 0 : common(std::prev(beginning)->first, beginning->first);
  return std::ssize(beginning->first) - before >= kApart;
}

void PrefixCache::keep(const std::string& owner, std::span<const TokenId> tokens, Text text) {
  try {
    insert(owner, tokens, std::move(text));
  } catch (const std::bad_alloc&) {
    owners_.clear();
    count_ = 0;
    page_holders_.clear();
    page_bytes_ = 0;
    row_bytes_ = 0;
  }
}

void PrefixCache::insert(const std::string& owner, std::span<const TokenId> tokens, Text text) {
  assert(std::ssize(tokens) == text.target.length());
  if (tokens.empty()) return;
  text.used = ++uses_;
  std::vector<TokenId> key(tokens.begin(), tokens.end());
  const auto place = owners_.try_emplace(owner).first;
  Texts& texts = place->second;
  auto next = texts.lower_bound(key);
  if (next != texts.end() && common(key, next->first) == std::ssize(key)) {
    if (knows_as_much(next->second, text)) {
      next->second.used = uses_;
      return;
    }
    if (next->first == key) next = drop(texts, next);
  }
  while (next != texts.begin()) {
    const auto before = std::prev(next);
    const bool continued = common(key, before->first) == std::ssize(before->first);
    if (!continued) break;
    if (!knows_as_much(text, before->second)) {
      if (text.target.holds(std::ssize(before->first)) || worth_keeping(texts, before)) break;
    }
    next = drop(texts, before);
  }
  count_in(texts.emplace_hint(next, std::move(key), std::move(text))->second);
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
  Texts& texts = own->second;
  Text* found = nullptr;
  // False: farther texts on this side have no more in common with the prompt.
  const auto consider = [&](Texts::value_type& text) {
    const std::int64_t most = common(prompt, text.first) - 1;
    if (most <= best.tokens) return false;
    if (const std::int64_t tokens = known(text.second, most, drafters); tokens > best.tokens) {
      best = {.text = &text.second, .tokens = tokens};
      found = &text.second;
    }
    return true;
  };
  const auto place = texts.lower_bound(std::vector<TokenId>(prompt.begin(), prompt.end()));
  for (auto next = place; next != texts.end() && consider(*next); ++next) {
  }
  for (auto before = place; before != texts.begin() && consider(*std::prev(before)); --before) {
  }
  if (found != nullptr) found->used = ++uses_;
  if (count) counts_.known_tokens += best.tokens;
  return best;
}

void PrefixCache::count_in(const Text& text) {
  for_caches(text, [&](const KvCache& cache) {
    cache.for_pages([&](const std::byte* page, std::int64_t bytes) {
      if (++page_holders_[page] == 1) page_bytes_ += bytes;
    });
  });
  for_blocks(text, [&](const std::byte* block, std::int64_t bytes) {
    if (++page_holders_[block] == 1) row_bytes_ += bytes;
  });
  row_bytes_ += waiting_bytes(text);
}

PrefixCache::Texts::iterator PrefixCache::drop(Texts& texts, Texts::iterator text) {
  for_caches(text->second, [&](const KvCache& cache) {
    cache.for_pages([&](const std::byte* page, std::int64_t bytes) {
      const auto holders = page_holders_.find(page);
      if (--holders->second > 0) return;
      page_holders_.erase(holders);
      page_bytes_ -= bytes;
    });
  });
  for_blocks(text->second, [&](const std::byte* block, std::int64_t bytes) {
    const auto holders = page_holders_.find(block);
    if (--holders->second > 0) return;
    page_holders_.erase(holders);
    row_bytes_ -= bytes;
  });
  row_bytes_ -= waiting_bytes(text->second);
  --count_;
  return texts.erase(text);
}

void PrefixCache::forget_empty(Owners::iterator owner) {
  if (owner->second.empty()) owners_.erase(owner);
}

PrefixCache::Hit PrefixCache::longest(const std::string& owner, std::span<const TokenId> tokens) const {
  Hit best;
  const auto own = owners_.find(owner);
  if (own == owners_.end()) return best;
  for (const auto& [key, text] : own->second) {
    const std::int64_t count = known(text, common(key, tokens), {});
    if (count > best.tokens) best = {&text, count};
  }
  return best;
}

std::int64_t PrefixCache::forget(const std::string& owner, std::span<const TokenId> tokens) {
  std::int64_t longest = 0;
  const auto own = owners_.find(owner);
  if (own == owners_.end()) return longest;
  Texts& texts = own->second;
  for (auto text = texts.begin(); text != texts.end();) {
    const std::int64_t size = std::ssize(text->first);
    if (common(text->first, tokens) < std::min(size, std::max<std::int64_t>(1, std::ssize(tokens) - 1))) {
      ++text;
      continue;
    }
    longest = std::max(longest, size);
    text = drop(texts, text);
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
