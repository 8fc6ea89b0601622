#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "draft/drafter.h"
#include "draft/lookup/datastore.h"
#include "draft/lookup/suffix_trie.h"

namespace augur {

/// SuffixDecoding (Oliaro et al., 2024): finds earlier occurrences of the end of the text, in the text itself
/// or in outputs of earlier sequences, and proposes what followed them, as a tree; and retrieval (REST, He et
/// al., 2024): the same in a datastore. The estimated probability of a continuation is its share of the
/// occurrences. The tree grows by path probability, up to `tokens_per_match` tokens for each token of the
/// match. Of all matches it uses the one whose tree has the highest expected number of accepted tokens. In
/// the tree, a token's probability is its share times the odds of copying (copy_odds.h).
class SuffixDrafter final : public Drafter {
 public:
  struct Options {
    int depth = 32;                                ///< match and branch together, in tokens
    std::size_t own_nodes = std::size_t{1} << 20;  ///< of the trie of the sequence's text (28 bytes each)
    std::int64_t reserved = 0;                     ///< tokens of a text that need no allocation
    int tokens_per_match = 4;                      ///< tokens drafted per token of the match
    double least_probability = 0.1;                ///< of a token, given what is before it
    // In the datastore, as in REST: matches of 16 tokens down to 2. Once a match occurs often enough, shorter
    // ones are not searched.
    int longest_retrieval = 16;
    int shortest_retrieval = 2;
    std::int64_t enough_occurrences = 16;
    bool keep_output = true;  ///< whether its output is added to the earlier ones when the sequence ends
  };
  /// `earlier`: outputs of earlier sequences that this one may use. It adds its own when it ends, if there is
  /// memory. `datastore`: null for none.
  SuffixDrafter(std::shared_ptr<SuffixMemory> earlier, const Datastore* datastore, const Options& options);
  ~SuffixDrafter() override;

  std::string_view name() const override { return "suffix"; }
  DrafterTraits traits() const override {
    return {.one_shot = true,
            .branching = true,
            .has_probabilities = false,
            .learns = true,
            .learns_across_sequences = true};
  }
  void reset() override;
  void sync(const AcceptedRows& rows) override;
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier, const ExpandOptions& options) override;

 private:
  /// Where a continuation ends, in a trie or in the datastore.
  struct Place {
    const SuffixTrie* trie = nullptr;  ///< null: the datastore
    std::int32_t node = 0;
    std::int32_t occurrences = 0;  ///< of the node
    Datastore::Range range;
  };
  struct Entry {
    TokenId token = -1;
    Place place;
    std::int32_t parent = -1;  ///< entry; -1: the root
    float probability = 1.0f;  ///< given its parent
    float path = 1.0f;         ///< given the text
  };
  struct Proposal {
    std::vector<Entry> entries;  ///< parents first
    float score = 0.0f;          ///< tokens expected to be accepted
    int match = 0;               ///< tokens of the text's end that it follows
  };
  void append(TokenId token);
  void consider(const SuffixView& view, std::size_t which, int budget, bool branching);
  void consider_datastore(int budget, bool branching);
  void try_match(const Place& place, int match, int budget, bool branching);
  void grow(const Place& place, int budget, bool branching);
  void offer_children(const Place& place, std::int32_t entry);
  void offer(TokenId token, const Place& place, std::int32_t entry, float share);
  void keep_output() noexcept;

  Options options_;
  SuffixMemory own_;
  std::shared_ptr<SuffixMemory> earlier_;
  SuffixView own_view_;
  SuffixView earlier_view_;
  const Datastore* datastore_;
  std::vector<TokenId> tokens_;
  std::size_t output_begin_ = 0;  ///< 0: nothing generated yet

  Proposal proposal_;
  Proposal best_;
  std::vector<Entry> offered_;  ///< heap
  std::vector<Datastore::Child> children_;
  std::vector<std::int32_t> tree_nodes_;
};

}  // namespace augur
