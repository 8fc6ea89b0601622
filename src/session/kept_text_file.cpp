#include "session/kept_text_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <list>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/arithmetic_law.h"
#include "base/atomic_file.h"
#include "base/error.h"
#include "files/json_fields.h"
#include "files/json_reader.h"
#include "files/mapped_file.h"

namespace augur {
namespace {

constexpr std::string_view kMagic = "AUGURTXT";
constexpr std::uint64_t kFormat = 4;
constexpr std::int64_t kHeadBytes = 8 + 5 * 8;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;
constexpr std::int64_t kMostHeader = std::int64_t{1} << 20;

using Bytes = std::span<const std::byte>;

static_assert(std::endian::native == std::endian::little, "numbers are written as they are in memory");

/// Of what may be damaged, not of what an enemy may choose: of a run of bytes, however it is cut. Every bit
/// of a word of it reaches all of the state.
class Checksum {
 public:
  void add(Bytes bytes) {
    for (; !bytes.empty() && pending_ > 0; bytes = bytes.subspan(1)) add_byte(bytes.front());
    for (; bytes.size() >= sizeof(word_); bytes = bytes.subspan(sizeof(word_))) {
      std::memcpy(&word_, bytes.data(), sizeof(word_));
      mix();
    }
    for (const std::byte byte : bytes) add_byte(byte);
  }
  std::uint64_t value() {
    if (pending_ > 0) mix();
    return state_;
  }

 private:
  void add_byte(std::byte byte) {
    if (pending_ == 0) word_ = 0;
    word_ |= static_cast<std::uint64_t>(byte) << (8 * pending_);
    if (++pending_ == sizeof(word_)) mix();
  }
  void mix() {
    state_ = std::rotl((state_ ^ word_) * 0x9e3779b97f4a7c15u, 29) + 1;
    pending_ = 0;
  }

  std::uint64_t state_ = 0x243f6a8885a308d3u;
  std::uint64_t word_ = 0;
  std::size_t pending_ = 0;  ///< bytes of word_
};

/// How much of a text a cache has, as the header says it.
struct CacheEntry {
  std::int64_t tokens = 0;
  std::vector<std::int64_t> folded;  ///< KvCache::folded_by_layer()
};

/// Layers with a window are written from the page on that a next token sees, records from the first that is
/// not in a state.
std::int64_t cache_bytes(const KvCache& form, const CacheEntry& entry) {
  std::int64_t bytes = 0;
  form.for_pools([&](const KvPagePool& pool, const KvSpan& span) {
    const std::int64_t first = span.page_slots == KvCache::kRecordSlots
                                   ? form.first_unfolded(entry.tokens, entry.folded)
                               : span.window > 0 ? std::max<std::int64_t>(0, entry.tokens + 1 - span.window)
                                                 : 0;
    const auto pages_to = [&](std::int64_t slots) { return (slots + span.page_slots - 1) / span.page_slots; };
    const bool folds = std::any_of(entry.folded.begin(), entry.folded.end(), [](auto f) { return f > 0; });
    const std::int64_t pages =
        span.page_slots == 0
            ? (folds ? 1 : 0)
            : pages_to(entry.tokens) - std::min(pages_to(entry.tokens), first / span.page_slots);
    bytes += pages * pool.page_bytes();
  });
  return bytes;
}

/// The cache with zeros in the slots of its pages that are nobody's, so that no other text gets into a file.
KvCache cleaned(const KvCache& cache) {
  KvCache copy = cache;
  copy.give_back_unseen();
  copy.own_last_pages();
  const std::int64_t length = cache.length();
  const auto border = [](std::int64_t slot) {
    return (slot + kKvPageSlots - 1) / kKvPageSlots * kKvPageSlots;
  };
  copy.memory().clear_slots(copy, {length, border(length)});
  const std::int64_t first = cache.first_unfolded(length, cache.folded_by_layer());
  copy.memory().clear_records(copy, {first / KvCache::kRecordSlots * KvCache::kRecordSlots, first});
  return copy;
}

/// The parts of a file's body, in their order, and what they are in.
class Body {
 public:
  void add(Bytes bytes) {
    if (!bytes.empty()) parts_.push_back(bytes);
    size_ += std::ssize(bytes);
  }
  void add(const KvCache& cache) {
    const KvCache& own = caches_.emplace_back(cleaned(cache));
    own.for_pages([&](const std::byte* page, std::int64_t bytes) {
      add(own.memory().read(page, static_cast<std::size_t>(bytes), pages_.emplace_back()));
    });
  }
  void add(const SharedRows& rows) {
    std::vector<float>& own = rows_.emplace_back();
    rows.copy_first(rows.rows(), own);
    add(std::as_bytes(std::span(own)));
  }
  std::span<const Bytes> parts() const { return parts_; }
  std::int64_t size() const { return size_; }

 private:
  std::list<KvCache> caches_;
  std::list<std::vector<std::byte>> pages_;  ///< those that the host cannot look into
  std::list<std::vector<float>> rows_;
  std::vector<Bytes> parts_;
  std::int64_t size_ = 0;
};

/// Reads a body from its beginning; whoever asks has checked the sizes.
class BodyReader {
 public:
  explicit BodyReader(Bytes bytes) : rest_(bytes) {}
  Bytes take(std::int64_t count) {
    const Bytes taken = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(static_cast<std::size_t>(count));
    return taken;
  }
  template <class T>
  std::vector<T> take_values(std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    const Bytes bytes = take(count * static_cast<std::int64_t>(sizeof(T)));
    if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  SharedRows take_rows(std::int64_t count, const std::shared_ptr<RowPool>& pool) {
    SharedRows rows(pool);
    for (std::int64_t i = 0; i < count; ++i) {
      float* const row = rows.append();
      if (pool == nullptr) continue;
      const Bytes bytes = take(pool->row_bytes());
      std::memcpy(row, bytes.data(), bytes.size());
    }
    return rows;
  }
  KvCache take_cache(const KvCache& form, const CacheEntry& entry) {
    KvCache cache = form;
    cache.lay_out(entry.tokens, entry.folded);
    cache.for_pages([&](std::byte* page, std::int64_t bytes) { cache.memory().write(page, take(bytes)); });
    return cache;
  }

 private:
  Bytes rest_;
};

/// What the header says of a drafter.
struct DrafterEntry {
  std::string identity;
  CacheEntry cached;
  std::int64_t waiting = 0;
  std::int64_t width = 0;
  std::int64_t bytes = 0;
};

std::int64_t rows_bytes(std::int64_t waiting, std::int64_t width) {
  return waiting * static_cast<std::int64_t>(sizeof(TokenId)) +
         waiting * width * static_cast<std::int64_t>(sizeof(float));
}

/// Floats of a drafter's waiting rows.
std::int64_t width_of(const EngineAccess::RowKeeper& keeper) {
  return keeper.features == nullptr ? 0 : keeper.features->width();
}

std::int64_t count_of(const nlohmann::json& object, const char* key, std::int64_t most,
                      const std::string& file) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned() ||
      found->get<std::uint64_t>() > static_cast<std::uint64_t>(most)) {
    throw Error("{}: '{}' is to be an integer from 0 to {}", file, key, most);
  }
  return found->get<std::int64_t>();
}

/// Whether there is a number for every layer that may have a state is checked against the form.
std::vector<std::int64_t> folded_of(const nlohmann::json& object, std::int64_t tokens,
                                    const std::string& file) {
  const auto found = object.find("folded");
  if (found == object.end()) return {0};
  constexpr std::size_t kMostLayers = 1 << 16;
  const auto fits = [&](const nlohmann::json& f) {
    return f.is_number_unsigned() && f.get<std::uint64_t>() <= static_cast<std::uint64_t>(tokens);
  };
  if (!found->is_array() || found->empty() || found->size() > kMostLayers ||
      !std::all_of(found->begin(), found->end(), fits)) {
    throw Error("{}: 'folded' is to be a list of integers from 0 to {}", file, tokens);
  }
  return found->get<std::vector<std::int64_t>>();
}

bool fits(const KvCache& form, const CacheEntry& entry) {
  if (entry.folded.size() != form.folded_by_layer().size()) return false;
  for (int i = 0; i < std::ssize(entry.folded); ++i) {
    if (entry.folded[static_cast<std::size_t>(i)] > 0 && !form.keeps_state(i)) return false;
  }
  return true;
}

std::vector<DrafterEntry> entries_of(const nlohmann::json& header, const std::string& file) {
  constexpr std::size_t kMostDrafters = 256;
  const auto list = header.find("drafters");
  if (list == header.end() || !list->is_array() || list->size() > kMostDrafters) {
    throw Error("{}: 'drafters' is to be a list", file);
  }
  std::vector<DrafterEntry> entries;
  for (const nlohmann::json& item : *list) {
    if (!item.is_object()) throw Error("{}: 'drafters' is to be a list of objects", file);
    constexpr std::int64_t kMostBytes = std::numeric_limits<std::int64_t>::max() / 1024;
    const std::int64_t cached = count_of(item, "cached", kMostTokens, file);
    entries.push_back({.identity = JsonFields(item, file).find_string("identity").value_or(""),
                       .cached = {.tokens = cached, .folded = folded_of(item, cached, file)},
                       .waiting = count_of(item, "waiting", kMostTokens, file),
                       .width = count_of(item, "width", 1 << 24, file),
                       .bytes = count_of(item, "bytes", kMostBytes, file)});
  }
  return entries;
}

void check_tokens(std::span<const TokenId> tokens, std::int32_t vocab, const std::string& file) {
  for (const TokenId token : tokens) {
    if (token < 0 || token >= vocab) {
      throw Error("{}: token {} is outside the vocabulary of {}", file, token, vocab);
    }
  }
}

/// What lies in a file whose sizes and hash are right.
struct Content {
  std::string_view header;
  Bytes body;
};

/// "law 2 (chain)"
std::string described(std::uint64_t law) {
  const std::string_view word = law < 1000 ? law_name(static_cast<int>(law)) : std::string_view();
  return word.empty() ? fmt::format("law {}", law) : fmt::format("law {} ({})", law, word);
}

Content open_content(const MappedFile& file, int expected_law, std::int64_t most_bytes) {
  const Bytes bytes = file.bytes();
  const auto size = std::ssize(bytes);
  if (size < kHeadBytes || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    throw Error("{}: is no saved text of augur", file.path());
  }
  std::uint64_t numbers[5];
  std::memcpy(numbers, bytes.data() + kMagic.size(), sizeof(numbers));
  const auto [format, law, header, body, hash] =
      std::tuple(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]);
  if (format != kFormat)
    throw Error(ErrorKind::Unsupported, "{}: format {}: expected {}", file.path(), format, kFormat);
  if (law != static_cast<std::uint64_t>(expected_law)) {
    throw Error(ErrorKind::Unsupported,
                "{}: was computed under {}: expected {}, this server's; the text must be read again",
                file.path(), described(law), described(static_cast<std::uint64_t>(expected_law)));
  }
  const auto rest = static_cast<std::uint64_t>(size - kHeadBytes);
  if (header > static_cast<std::uint64_t>(kMostHeader) || header > rest || body != rest - header) {
    throw Error("{}: has {} bytes, but says that they are {} of a header and {} behind it", file.path(), size,
                header, body);
  }
  if (static_cast<std::int64_t>(body) > most_bytes) {
    throw Error(ErrorKind::OutOfMemory, "{}: {} bytes: kept texts may take {}", file.path(), body,
                most_bytes);
  }
  const Bytes head = bytes.subspan(kHeadBytes, header);
  const Bytes behind = bytes.subspan(kHeadBytes + header);
  Checksum sum;
  sum.add(head);
  sum.add(behind);
  if (sum.value() != hash) throw Error("{}: is damaged: its hash is another than it says", file.path());
  return {.header = {reinterpret_cast<const char*>(head.data()), head.size()}, .body = behind};
}

}  // namespace

std::int64_t write_kept_text(const std::filesystem::path& path, const KeptTextForm& form,
                             const KeptText& text) {
  Body body;
  body.add(std::as_bytes(std::span(text.tokens)));
  body.add(text.entry.target);
  nlohmann::ordered_json drafters = nlohmann::ordered_json::array();
  for (const EngineAccess::RowKeeper& keeper : form.drafters) {
    const PrefixCache::Drafted* const drafted = text.entry.drafted_by(keeper.group);
    if (drafted == nullptr) continue;
    const SequenceRows::Kept& rows = drafted->rows;
    const std::int64_t begin = body.size();
    body.add(rows.cache);
    body.add(std::as_bytes(std::span(rows.tokens)));
    body.add(rows.features);
    drafters.push_back({{"identity", keeper.identity},
                        {"cached", rows.cache.length()},
                        {"folded", rows.cache.folded_by_layer()},
                        {"waiting", rows.tokens.size()},
                        {"width", width_of(keeper)},
                        {"bytes", body.size() - begin}});
  }
  const std::string header = nlohmann::ordered_json{
      {"fingerprint", form.fingerprint},
      {"tokens", text.tokens.size()},
      {"folded", text.entry.target.folded_by_layer()},
      {"drafters",
       std::move(drafters)}}.dump();
  const Bytes head = std::as_bytes(std::span(header.data(), header.size()));
  Checksum sum;
  sum.add(head);
  for (const Bytes part : body.parts()) sum.add(part);
  const std::uint64_t numbers[5] = {kFormat, static_cast<std::uint64_t>(form.law), header.size(),
                                    static_cast<std::uint64_t>(body.size()), sum.value()};
  AtomicFile file(path, AtomicFile::Access::Owner);
  file.write(kMagic);
  file.write(std::as_bytes(std::span(numbers)));
  file.write(head);
  for (const Bytes part : body.parts()) file.write(part);
  file.commit();
  return kHeadBytes + std::ssize(header) + body.size();
}

KeptText read_kept_text(const std::filesystem::path& path, const KeptTextForm& form,
                        std::int64_t most_bytes) {
  const MappedFile file(path);
  const std::string& name = file.path();
  const Content content = open_content(file, form.law, most_bytes);
  const nlohmann::json header = parse_json(content.header, name);
  if (!header.is_object()) throw Error("{}: its header is to be an object", name);
  const std::string fingerprint = JsonFields(header, name).find_string("fingerprint").value_or("");
  if (fingerprint != form.fingerprint) {
    throw Error(ErrorKind::Unsupported,
                "{}: is of '{}': expected '{}', as this server's system_fingerprint is", name, fingerprint,
                form.fingerprint);
  }
  const std::int64_t tokens = count_of(header, "tokens", std::min(kMostTokens, form.target.capacity()), name);
  if (tokens == 0) throw Error("{}: is of no tokens", name);
  const std::vector<DrafterEntry> entries = entries_of(header, name);
  const CacheEntry cached{.tokens = tokens, .folded = folded_of(header, tokens, name)};
  if (!fits(form.target, cached)) throw Error("{}: 'folded' is not of this model's layers", name);
  std::int64_t expected =
      tokens * static_cast<std::int64_t>(sizeof(TokenId)) + cache_bytes(form.target, cached);
  for (const DrafterEntry& entry : entries) expected += entry.bytes;
  if (expected != std::ssize(content.body)) {
    throw Error("{}: {} bytes behind the header: expected {}", name, content.body.size(), expected);
  }
  BodyReader body(content.body);
  KeptText to{.tokens = body.take_values<TokenId>(tokens),
              .entry = {.target = form.target, .drafters = {}},
              .bytes = std::ssize(file.bytes())};
  check_tokens(to.tokens, form.vocab, name);
  to.entry.target = body.take_cache(form.target, cached);
  for (const DrafterEntry& entry : entries) {
    const auto keeper =
        std::find_if(form.drafters.begin(), form.drafters.end(), [&](const EngineAccess::RowKeeper& k) {
          return k.identity == entry.identity && to.entry.drafted_by(k.group) == nullptr;
        });
    if (keeper == form.drafters.end()) {
      body.take(entry.bytes);
      continue;
    }
    const bool known = fits(keeper->cache, entry.cached);
    const std::int64_t whole =
        known ? cache_bytes(keeper->cache, entry.cached) + rows_bytes(entry.waiting, entry.width) : 0;
    if (!known || entry.width != width_of(*keeper) || entry.cached.tokens + entry.waiting > tokens ||
        entry.bytes != whole) {
      throw Error("{}: the rows of drafter '{}' are not of its sizes", name, entry.identity);
    }
    KvCache cache = body.take_cache(keeper->cache, entry.cached);
    std::vector<TokenId> waiting = body.take_values<TokenId>(entry.waiting);
    check_tokens(waiting, form.vocab, name);
    SharedRows features = body.take_rows(entry.waiting, keeper->features);
    to.entry.drafters.push_back(
        {.group = keeper->group,
         .rows = {.cache = std::move(cache), .tokens = std::move(waiting), .features = std::move(features)}});
  }
  return to;
}

}  // namespace augur
