#include "draft/lookup/datastore.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/fnv1a.h"
#include "base/index.h"
#include "draft/lookup/suffix_array.h"

namespace augur {
namespace {

constexpr std::string_view kMagic = "AUGRSTO1";

struct Header {
  std::array<char, 8> magic{};
  std::uint32_t vocab = 0;
  std::uint32_t reserved = 0;
  std::uint64_t tokens = 0;
  std::uint64_t fingerprint = 0;
};
static_assert(sizeof(Header) == 32);

/// FNV-1a over every token's bytes and length.
std::uint64_t fingerprint(const Tokenizer& tokenizer) {
  Fnv1a hash;
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string bytes = tokenizer.token_bytes(id);
    hash.add_bytes(bytes);
    hash.add_little_endian(bytes.size(), 4);
  }
  return hash.value();
}

}  // namespace

Datastore::Datastore(const std::filesystem::path& path, const Tokenizer& tokenizer, std::int32_t vocab)
    : file_(path), known_(std::min(tokenizer.vocab_size(), vocab)) {
  const std::span<const std::byte> bytes = file_.bytes();
  Header header;
  if (bytes.size() >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
  if (std::string_view(header.magic.data(), header.magic.size()) != kMagic) {
    throw Error(ErrorKind::NotFound, "{}: no datastore (augur datastore build makes one)", file_.path());
  }
  const std::uint64_t entries = (bytes.size() - sizeof header) / 8;
  if (header.tokens != entries || entries * 8 + sizeof header != bytes.size()) {
    throw Error("{}: says that it holds {} tokens, but has {} bytes", file_.path(), header.tokens,
                bytes.size());
  }
  if (header.vocab != static_cast<std::uint32_t>(tokenizer.vocab_size()) ||
      header.fingerprint != fingerprint(tokenizer)) {
    throw Error("{}: was made with another vocabulary, of {} tokens; the model has {}", file_.path(),
                header.vocab, tokenizer.vocab_size());
  }
  const auto* data = reinterpret_cast<const std::uint32_t*>(bytes.data() + sizeof header);
  tokens_ = {data, static_cast<std::size_t>(entries)};
  suffixes_ = {data + entries, static_cast<std::size_t>(entries)};
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i] > header.vocab) {
      throw Error("{}: token {} is {}, expected at most {}", file_.path(), i, tokens_[i], header.vocab);
    }
    if (suffixes_[i] >= entries) {
      throw Error("{}: suffix {} is {}, expected less than {}", file_.path(), i, suffixes_[i], entries);
    }
  }
}

/// The token `offset` after the beginning of a suffix; -1 beyond the end, which sorts first.
TokenId Datastore::token_at(std::int64_t rank, int offset) const {
  const std::uint64_t place = std::uint64_t{suffixes_[at(rank)]} + static_cast<std::uint64_t>(offset);
  return place < tokens_.size() ? static_cast<TokenId>(tokens_[place]) : -1;
}

/// The first rank in [begin, end) that is not below, where those that are come first; otherwise end.
template <class Below>
std::int64_t Datastore::first_not(std::int64_t begin, std::int64_t end, const Below& below) const {
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (below(middle)) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

Datastore::Range Datastore::find(std::span<const TokenId> tokens) const {
  // -1, 0, 1: the suffix is smaller, goes on after the tokens or with them, is greater.
  const auto compare = [&](std::int64_t rank) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const TokenId token = token_at(rank, static_cast<int>(i));
      if (token != tokens[i]) return token < tokens[i] ? -1 : 1;
    }
    return 0;
  };
  const std::int64_t begin = first_not(0, size(), [&](std::int64_t rank) { return compare(rank) < 0; });
  const std::int64_t end = first_not(begin, size(), [&](std::int64_t rank) { return compare(rank) == 0; });
  return {begin, end, static_cast<int>(tokens.size())};
}

void Datastore::children(const Range& range, double least_share, std::vector<Child>& out) const {
  out.clear();
  const auto least = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil(least_share * static_cast<double>(range.count()))));
  // Equal tokens lie together, so whoever has `least` of them covers one of every `least` ranks.
  for (std::int64_t rank = range.begin; rank < range.end; rank += least) {
    if (!out.empty() && rank < out.back().range.end) continue;
    const TokenId token = token_at(rank, range.length);
    if (token < 0 || token >= known_) continue;
    const auto below = [&](std::int64_t r) { return token_at(r, range.length) < token; };
    const auto same = [&](std::int64_t r) { return token_at(r, range.length) == token; };
    const std::int64_t first = out.empty() ? range.begin : out.back().range.end;
    const std::int64_t begin = std::min(rank, first_not(first, rank, below));
    const std::int64_t end = std::max(rank + 1, first_not(rank, range.end, same));
    if (end - begin >= least) out.push_back({token, {begin, end, range.length + 1}});
  }
}

void DatastoreBuilder::add(std::span<const TokenId> document) {
  for (const TokenId token : document) {
    if (token < 0 || token >= tokenizer_.vocab_size()) {
      throw Error("token {} is outside the vocabulary of {}", token, tokenizer_.vocab_size());
    }
  }
  if (document.empty()) return;
  tokens_.insert(tokens_.end(), document.begin(), document.end());
  tokens_.push_back(tokenizer_.vocab_size());
}

void DatastoreBuilder::write(const std::filesystem::path& path) const {
  if (tokens_.empty()) throw Error("{}: there are no tokens to write", path.string());
  const std::vector<std::int32_t> suffixes = suffix_array(tokens_, tokenizer_.vocab_size() + 1);
  Header header;
  std::copy(kMagic.begin(), kMagic.end(), header.magic.begin());
  header.vocab = static_cast<std::uint32_t>(tokenizer_.vocab_size());
  header.tokens = tokens_.size();
  header.fingerprint = fingerprint(tokenizer_);
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(&header, 1)));
  file.write(std::as_bytes(std::span(tokens_)));
  file.write(std::as_bytes(std::span(suffixes)));
  file.commit();
}

}  // namespace augur
