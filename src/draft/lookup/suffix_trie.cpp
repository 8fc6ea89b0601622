#include "draft/lookup/suffix_trie.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace augur {
namespace {

constexpr std::size_t kFirstSlots = 1024;

std::size_t hash(std::int32_t parent, TokenId token) {
  std::uint64_t h = static_cast<std::uint64_t>(static_cast<std::uint32_t>(parent)) << 32 |
                    static_cast<std::uint32_t>(token);
  h *= 0x9e3779b97f4a7c15u;
  return h ^ (h >> 32);
}

}  // namespace

SuffixTrie::SuffixTrie(int depth) : depth_(depth) {
  clear();
}

void SuffixTrie::clear() {
  nodes_.assign(1, Node{});
  slots_.assign(std::max(slots_.size(), kFirstSlots), kNone);
}

std::int64_t SuffixTrie::bytes() const {
  if (nodes_.size() == 1) return 0;
  return static_cast<std::int64_t>(nodes_.capacity() * sizeof(Node) +
                                   slots_.capacity() * sizeof(std::int32_t));
}

void SuffixTrie::reserve(std::size_t nodes) {
  nodes_.reserve(nodes);
  while (slots_.size() < 2 * (nodes + 1)) grow_slots();
}

SuffixTrie::Suffixes SuffixTrie::no_text() const {
  Suffixes suffixes(static_cast<std::size_t>(depth_), kNone);
  suffixes.front() = kRoot;
  return suffixes;
}

/// The slot that holds the child, or the empty one where it belongs.
std::size_t SuffixTrie::slot_of(std::int32_t parent, TokenId token) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = hash(parent, token) & mask;
  while (slots_[i] != kNone && (at(slots_[i]).parent != parent || at(slots_[i]).token != token)) {
    i = (i + 1) & mask;
  }
  return i;
}

std::int32_t SuffixTrie::find_child(std::int32_t node, TokenId token) const {
  return slots_[slot_of(node, token)];
}

std::int32_t SuffixTrie::count_child(std::int32_t parent, TokenId token) {
  std::size_t slot = slot_of(parent, token);
  if (slots_[slot] == kNone) {
    if (2 * (nodes_.size() + 1) > slots_.size()) {
      grow_slots();
      slot = slot_of(parent, token);
    }
    const auto node = static_cast<std::int32_t>(nodes_.size());
    nodes_.push_back({.token = token, .parent = parent, .next_sibling = at(parent).first_child});
    nodes_[static_cast<std::size_t>(parent)].first_child = node;
    slots_[slot] = node;
  }
  const std::int32_t node = slots_[slot];
  ++nodes_[static_cast<std::size_t>(node)].count;
  return node;
}

void SuffixTrie::grow_slots() {
  slots_.assign(slots_.size() * 2, kNone);
  for (std::size_t node = 1; node < nodes_.size(); ++node) {
    slots_[slot_of(nodes_[node].parent, nodes_[node].token)] = static_cast<std::int32_t>(node);
  }
}

void SuffixTrie::insert(Suffixes& suffixes, TokenId token) {
  for (std::size_t length = suffixes.size(); length-- > 0;) {
    const std::int32_t node = suffixes[length];
    const std::int32_t next = node == kNone ? kNone : count_child(node, token);
    if (length + 1 < suffixes.size()) suffixes[length + 1] = next;
  }
}

void SuffixTrie::follow(Suffixes& suffixes, TokenId token) const {
  for (std::size_t length = suffixes.size() - 1; length-- > 0;) {
    suffixes[length + 1] = suffixes[length] == kNone ? kNone : find_child(suffixes[length], token);
  }
}

// --- Bounded memory
// ------------------------------------------------------------------------------------------

SuffixMemory::SuffixMemory(int depth, std::size_t max_nodes)
    : tries_{SuffixTrie(depth), SuffixTrie(depth)}, max_nodes_(max_nodes) {}

/// A power of two, as tries double their memory.
void SuffixMemory::limit_bytes(std::int64_t bytes) {
  max_nodes_ = std::bit_floor(static_cast<std::size_t>(bytes / (2 * SuffixTrie::kNodeBytes)));
}

bool SuffixMemory::make_room() {
  const auto one_more = static_cast<std::size_t>(newest().depth());
  if (newest().size() + one_more <= max_nodes_) return false;
  std::swap(tries_[0], tries_[1]);
  tries_[0].clear();
  ++generation_;
  return true;
}

void SuffixMemory::clear() {
  for (SuffixTrie& trie : tries_) trie.clear();
  ++generation_;
}

void SuffixMemory::release() {
  for (SuffixTrie& trie : tries_) trie = SuffixTrie(trie.depth());
  ++generation_;
}

void SuffixMemory::insert(std::span<const TokenId> text) {
  if (static_cast<std::size_t>(newest().depth()) >= max_nodes_) return;
  SuffixTrie::Suffixes suffixes = newest().no_text();
  for (const TokenId token : text) {
    if (make_room()) suffixes = newest().no_text();
    newest().insert(suffixes, token);
  }
  ++generation_;  // who follows a text here may find more of it
}

// --- One text in it
// --------------------------------------------------------------------------------------------

SuffixView::SuffixView(SuffixMemory& memory) : memory_(&memory) {
  clear();
}

void SuffixView::clear() {
  for (std::size_t i = 0; i < suffixes_.size(); ++i) suffixes_[i] = trie(i).no_text();
  generation_ = memory_->generation();
}

void SuffixView::find(std::span<const TokenId> text) {
  clear();
  const auto most = static_cast<std::size_t>(trie(0).depth() - 1);
  for (const TokenId token : text.last(std::min(text.size(), most))) {
    for (std::size_t i = 0; i < suffixes_.size(); ++i) trie(i).follow(suffixes_[i], token);
  }
}

void SuffixView::refresh(std::span<const TokenId> text) {
  if (generation_ != memory_->generation()) find(text);
}

void SuffixView::advance(std::span<const TokenId> text, bool learn) {
  if (learn) memory_->make_room();
  refresh(text.first(text.size() - 1));
  if (learn) {
    memory_->newest().insert(suffixes_[0], text.back());
  } else {
    trie(0).follow(suffixes_[0], text.back());
  }
  trie(1).follow(suffixes_[1], text.back());
}

}  // namespace augur
