#include "lab/train/sentencepiece_trainer.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/utf8.h"
#include "lab/train/pair_merger.h"

namespace augur {

namespace {

constexpr char32_t kSpace = 0x2581;

/// The wire format's messages (protocol buffers), as far as this file needs them.
class Message {
 public:
  void integer(int field, std::uint64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(value);
  }
  void number(int field, float value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 5);
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);  // little-endian, as everything here
    bytes_.append(bytes, sizeof value);
  }
  void text(int field, std::string_view value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(value.size());
    bytes_ += value;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  std::string bytes_;
};

// sentencepiece_model.proto: ModelProto and its parts.
enum PieceType : std::uint64_t { kNormal = 1, kUnknown = 2, kControl = 3, kByte = 6 };
constexpr int kUnknownId = 0, kBosId = 1, kEosId = 2;

class Model {
 public:
  void piece(std::string_view text, float score, PieceType type) {
    Message piece;
    piece.text(1, text);
    piece.number(2, score);
    piece.integer(3, type);
    model_.text(1, piece.bytes());
    ++size_;
  }
  std::size_t size() const { return size_; }
  std::string finish() {
    Message trainer;
    trainer.integer(3, 2);  // model_type: BPE
    trainer.integer(4, size_);
    trainer.integer(35, 1);  // byte_fallback
    trainer.integer(40, kUnknownId);
    trainer.integer(41, kBosId);
    trainer.integer(42, kEosId);
    model_.text(2, trainer.bytes());
    Message normalizer;
    normalizer.text(1, "identity");
    normalizer.integer(3, 1);  // add_dummy_prefix
    normalizer.integer(4, 0);  // remove_extra_whitespaces
    normalizer.integer(5, 1);  // escape_whitespaces
    model_.text(3, normalizer.bytes());
    return model_.bytes();
  }

 private:
  Message model_;
  std::size_t size_ = 0;
};

std::u32string characters(std::string_view text) {
  std::u32string out;
  for (std::size_t at = 0; at < text.size();) {
    const DecodedCharacter c = decode_utf8(text, at);
    if (c.valid) out.push_back(c.code);
    at += c.length;
  }
  return out;
}

std::string utf8(std::u32string_view text) {
  std::string out;
  for (const char32_t c : text) append_utf8(out, c);
  return out;
}

bool is_digit(char32_t c) {
  return c >= U'0' && c <= U'9';
}

}  // namespace

void SentencePieceTrainer::add(std::string_view text) {
  std::u32string word(1, kSpace);  // the dummy prefix
  const auto finish = [&] {
    if (!word.empty()) ++words_[utf8(word)];
    word.clear();
  };
  for (const char32_t c : characters(text)) {
    if (c == U' ') {
      finish();
      word.push_back(kSpace);
    } else if (c == U'\n' || c == U'\t' || c == U'\r' || is_digit(c)) {
      finish();
      word.push_back(c);
      finish();
    } else {
      word.push_back(c);
    }
  }
  finish();
}

std::string SentencePieceTrainer::train(const Options& options) const {
  using Symbol = PairMerger::Symbol;
  // Characters by falling frequency; the rare ones are left to bytes.
  std::unordered_map<char32_t, std::int64_t> counts;
  std::int64_t total = 0;
  for (const auto& [word, count] : words_) {
    for (const char32_t c : characters(word)) {
      counts[c] += count;
      total += count;
    }
  }
  std::vector<std::pair<char32_t, std::int64_t>> alphabet(counts.begin(), counts.end());
  std::sort(alphabet.begin(), alphabet.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::vector<std::u32string> pieces;  // by symbol
  std::unordered_map<char32_t, Symbol> symbol_of_character;
  std::int64_t covered = 0;
  for (const auto& [c, count] : alphabet) {
    if (static_cast<double>(covered) >= options.coverage * static_cast<double>(total)) break;
    covered += count;
    symbol_of_character.emplace(c, static_cast<Symbol>(pieces.size()));
    pieces.emplace_back(1, c);
  }

  Model model;
  model.piece("<unk>", 0, kUnknown);
  model.piece("<s>", 0, kControl);
  model.piece("</s>", 0, kControl);
  for (const std::string& name : options.control) model.piece(name, 0, kControl);
  for (int b = 0; b < 256; ++b) model.piece(fmt::format("<0x{:02X}>", b), 0, kByte);
  const std::size_t least = model.size() + pieces.size();
  if (options.pieces < least) {
    throw Error("SentencePiece: {} pieces: control pieces, bytes and {} characters alone are {}",
                options.pieces, pieces.size(), least);
  }

  // Rare characters cut words.
  std::vector<PairMerger::Word> words;
  for (const auto& [word, count] : words_) {
    words.push_back({{}, count});
    for (const char32_t c : characters(word)) {
      const auto found = symbol_of_character.find(c);
      if (found != symbol_of_character.end()) {
        words.back().symbols.push_back(found->second);
      } else if (!words.back().symbols.empty()) {
        words.push_back({{}, count});
      }
    }
  }
  PairMerger merger(std::move(words));
  const std::size_t merges = options.pieces - least;
  const std::size_t first = pieces.size();
  std::unordered_map<std::string, Symbol> symbol_of;
  PairMerger::Pair pair;
  while (pieces.size() < first + merges && merger.best(pair)) {
    const std::u32string joined = pieces[pair.left] + pieces[pair.right];
    const auto [symbol, is_new] = symbol_of.emplace(utf8(joined), static_cast<Symbol>(pieces.size()));
    if (is_new) pieces.push_back(joined);
    merger.merge(pair, symbol->second);
  }
  // Scores are ranks: what was merged first is merged first again. Characters come last.
  float score = 0;
  for (std::size_t i = first; i < pieces.size(); ++i) model.piece(utf8(pieces[i]), score--, kNormal);
  for (std::size_t i = 0; i < first; ++i) model.piece(utf8(pieces[i]), score--, kNormal);
  return model.finish();
}

}  // namespace augur
