#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"

namespace augur {

/// How often every sequence of up to `depth` tokens occurred in the texts that were inserted, as a trie. A
/// token costs `depth` look-ups, whatever was inserted before.
class SuffixTrie {
 public:
  static constexpr std::int32_t kRoot = 0;
  static constexpr std::int32_t kNone = -1;
  /// Of a node and its slots, where both are full: their memory doubles as it grows.
  static constexpr std::int64_t kNodeBytes = 28;

  explicit SuffixTrie(int depth);

  /// The node of every suffix of a text, by length: [0] the root, at most depth - 1 tokens, kNone where the
  /// suffix never occurred.
  using Suffixes = std::vector<std::int32_t>;
  Suffixes no_text() const;
  /// The text goes on with a token: counts it after each suffix.
  void insert(Suffixes& suffixes, TokenId token);
  /// The same without counting.
  void follow(Suffixes& suffixes, TokenId token) const;

  void clear();
  /// Room for so many nodes: until then nothing is allocated.
  void reserve(std::size_t nodes);
  std::size_t size() const { return nodes_.size(); }
  /// What its nodes take; 0: there is none but the root.
  std::int64_t bytes() const;
  int depth() const { return depth_; }

  TokenId token(std::int32_t node) const { return at(node).token; }
  std::int32_t count(std::int32_t node) const { return at(node).count; }
  /// Children, the newest first.
  std::int32_t first_child(std::int32_t node) const { return at(node).first_child; }
  std::int32_t next_sibling(std::int32_t node) const { return at(node).next_sibling; }
  std::int32_t find_child(std::int32_t node, TokenId token) const;

 private:
  struct Node {
    TokenId token = -1;
    std::int32_t parent = kNone;
    std::int32_t count = 0;
    std::int32_t first_child = kNone;
    std::int32_t next_sibling = kNone;
  };
  const Node& at(std::int32_t node) const { return nodes_[static_cast<std::size_t>(node)]; }
  std::size_t slot_of(std::int32_t parent, TokenId token) const;
  std::int32_t count_child(std::int32_t parent, TokenId token);
  void grow_slots();

  int depth_;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> slots_;  ///< open addressing by (parent, token), a power of two; kNone: empty
};

/// Counts of bounded size: a trie that is filled and one that was filled before it. When the first is full it
/// takes the second's place, and what was in that is forgotten.
class SuffixMemory {
 public:
  SuffixMemory(int depth, std::size_t max_nodes);

  /// Newest first.
  const std::array<SuffixTrie, 2>& tries() const { return tries_; }
  SuffixTrie& newest() { return tries_[0]; }
  /// Makes room. Nodes of before mean nothing afterwards, which the generation tells.
  bool make_room();
  std::uint64_t generation() const { return generation_; }
  void clear();
  /// The same, and gives back the memory.
  void release();
  std::int64_t bytes() const { return tries_[0].bytes() + tries_[1].bytes(); }
  /// Both tries together take so many bytes at most from here on; one that has more nodes already takes the
  /// second's place as if it were full.
  void limit_bytes(std::int64_t bytes);
  /// A whole text. Nothing where not even a suffix has room.
  void insert(std::span<const TokenId> text);

 private:
  std::array<SuffixTrie, 2> tries_;
  std::size_t max_nodes_;
  std::uint64_t generation_ = 0;
};

/// Where the suffixes of one growing text are in a memory.
class SuffixView {
 public:
  explicit SuffixView(SuffixMemory& memory);

  void clear();
  /// `text` has got one more token, its last. `learn`: the memory counts it.
  void advance(std::span<const TokenId> text, bool learn);
  /// Looks again if the memory has changed meanwhile.
  void refresh(std::span<const TokenId> text);

  const SuffixTrie& trie(std::size_t which) const { return memory_->tries()[which]; }
  const SuffixTrie::Suffixes& suffixes(std::size_t which) const { return suffixes_[which]; }

 private:
  void find(std::span<const TokenId> text);

  SuffixMemory* memory_;
  std::array<SuffixTrie::Suffixes, 2> suffixes_;
  std::uint64_t generation_ = 0;
};

}  // namespace augur
