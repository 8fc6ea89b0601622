#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "base/types.h"
#include "files/mapped_file.h"
#include "text/tokenizer.h"

namespace augur {

/// Texts to draft from (REST, He et al., 2024): their tokens and a suffix array over them, memory-mapped.
/// Whatever a file holds, drafting from it can only propose wrong tokens: every index is checked.
/// Thread-safe.
///
/// The file, little-endian: "AUGRSTO1"; u32 vocabulary size v; u32 0; u64 number of tokens n; u64 fingerprint
/// of the vocabulary; u32 tokens[n], where v ends a document; u32 suffixes[n], where they begin, in ascending
/// order.
class Datastore {
 public:
  /// Suffixes [begin, end) of the sorted ones, which all have their first `length` tokens in common.
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    int length = 0;
    std::int64_t count() const { return end - begin; }
  };
  struct Child {
    TokenId token = -1;
    Range range;
  };

  /// Error naming the file: no datastore, damaged (every token and suffix is looked at), or made with another
  /// vocabulary. `vocab`: the target's; a tokenizer may know more tokens than the target does.
  Datastore(const std::filesystem::path& path, const Tokenizer& tokenizer, std::int32_t vocab);

  std::int64_t size() const { return std::ssize(tokens_); }
  /// The occurrences of a sequence of tokens.
  Range find(std::span<const TokenId> tokens) const;
  /// What follows at least `least_share` of the range's occurrences, in ascending order of tokens, as far as
  /// the target knows them. Documents do not go on beyond their end.
  void children(const Range& range, double least_share, std::vector<Child>& out) const;

 private:
  TokenId token_at(std::int64_t rank, int offset) const;
  template <class Below>
  std::int64_t first_not(std::int64_t begin, std::int64_t end, const Below& below) const;

  MappedFile file_;
  TokenId known_ = 0;  ///< tokens below it are the target's, and no end of a document
  std::span<const std::uint32_t> tokens_;
  std::span<const std::uint32_t> suffixes_;
};

/// Collects documents and writes a datastore. Up to 23 bytes of memory a token while it sorts.
class DatastoreBuilder {
 public:
  explicit DatastoreBuilder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// Error for an id outside the vocabulary.
  void add(std::span<const TokenId> document);
  std::int64_t size() const { return std::ssize(tokens_); }
  /// Error when there are no tokens, or the file cannot be written.
  void write(const std::filesystem::path& path) const;

 private:
  const Tokenizer& tokenizer_;
  std::vector<std::int32_t> tokens_;
};

}  // namespace augur
