#include "text/tokenizer/pretokenizer.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/utf8.h"
#include "text/tokenizer/bpe_byte_level.h"
#include "text/tokenizer/digit_groups.h"
#include "text/tokenizer/fields.h"
#include "text/tokenizer/normalizer.h"

namespace augur {
namespace {

using nlohmann::json;

class Split : public PreTokenizer {
 public:
  Split(Regex pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void apply(PieceList& list) const override {
    Regex::Matcher matcher(pattern_);
    std::vector<RegexSpan> spans;
    std::vector<std::string_view> out;
    out.reserve(2 * list.pieces.size());
    for (const std::string_view piece : list.pieces) {
      spans.clear();
      matcher.split(piece, spans);
      if (invert_)
        for (RegexSpan& span : spans) span.matched = !span.matched;
      append(spans, out);
    }
    list.pieces = std::move(out);
  }

 private:
  static std::string_view join(std::string_view left, std::string_view right) {
    return {left.data(), static_cast<std::size_t>(right.data() + right.size() - left.data())};
  }

  void append(const std::vector<RegexSpan>& spans, std::vector<std::string_view>& out) const {
    const std::size_t first = out.size();
    bool joinable = false;  // MergedWithPrevious: the last piece can take a match
    bool pending = false;   // MergedWithNext: the last piece is a match that waits for its neighbour
    bool previous = false;  // Contiguous: whether the last span was a match
    for (const RegexSpan& span : spans) {
      switch (behavior_) {
        case SplitBehavior::Isolated:
          out.push_back(span.text);
          break;
        case SplitBehavior::Removed:
          // Bytes that are not text are not the expression's to remove.
          if (!span.matched || !span.valid) out.push_back(span.text);
          break;
        case SplitBehavior::MergedWithPrevious:
          if (span.matched && joinable && out.size() > first)
            out.back() = join(out.back(), span.text);
          else
            out.push_back(span.text);
          joinable = !span.matched;
          break;
        case SplitBehavior::MergedWithNext:
          if (!span.matched && pending)
            out.back() = join(out.back(), span.text);
          else
            out.push_back(span.text);
          pending = span.matched;
          break;
        case SplitBehavior::Contiguous:
          if (out.size() > first && span.matched == previous)
            out.back() = join(out.back(), span.text);
          else
            out.push_back(span.text);
          previous = span.matched;
          break;
      }
    }
  }

  Regex pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

/// A space in front of every piece that has none. The bytes themselves are the tokenizer's business.
class PrefixSpace : public PreTokenizer {
 public:
  void apply(PieceList& list) const override {
    for (std::string_view& piece : list.pieces)
      if (!piece.starts_with(' ')) piece = list.storage.emplace_back(std::string(1, ' ').append(piece));
  }
};

/// SentencePiece's escape: spaces become a visible character, which may also open the text.
class Metaspace : public PreTokenizer {
 public:
  enum class Prepend { Always, First, Never };
  Metaspace(std::string replacement, Prepend prepend, std::unique_ptr<PreTokenizer> split)
      : replacement_(std::move(replacement)), prepend_(prepend), split_(std::move(split)) {}

  void apply(PieceList& list) const override {
    for (std::size_t i = 0; i < list.pieces.size(); ++i) {
      std::string text = replace_all(list.pieces[i], " ", replacement_);
      const bool wanted =
          prepend_ == Prepend::Always || (prepend_ == Prepend::First && i == 0 && list.starts_text);
      if (wanted && !text.starts_with(replacement_)) text.insert(0, replacement_);
      list.pieces[i] = list.storage.emplace_back(std::move(text));
    }
    if (split_) split_->apply(list);
  }

 private:
  std::string replacement_;
  Prepend prepend_;
  std::unique_ptr<PreTokenizer> split_;
};

/// Pieces as ByteLevel writes them, for steps that look at them so.
class ToByteAlphabet : public PreTokenizer {
 public:
  void apply(PieceList& list) const override {
    for (std::string_view& piece : list.pieces) {
      std::string text;
      for (const char c : piece) append_utf8(text, alphabet_[static_cast<unsigned char>(c)]);
      piece = list.storage.emplace_back(std::move(text));
    }
  }

 private:
  std::array<char32_t, 256> alphabet_ = byte_level_alphabet();
};

/// And back: bytes are the tokenizer's business.
class FromByteAlphabet : public PreTokenizer {
 public:
  void apply(PieceList& list) const override {
    for (std::string_view& piece : list.pieces)
      if (auto bytes = decoder_.bytes(piece)) piece = list.storage.emplace_back(std::move(*bytes));
  }

 private:
  ByteLevelDecoder decoder_;
};

class Sequence : public PreTokenizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<PreTokenizer>> steps) : steps_(std::move(steps)) {}
  void apply(PieceList& list) const override {
    for (const auto& step : steps_) step->apply(list);
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

SplitBehavior behavior_of(const json& value, const std::string& where) {
  const std::string name = require_string(value, "behavior", where);
  if (name == "Isolated") return SplitBehavior::Isolated;
  if (name == "Removed") return SplitBehavior::Removed;
  if (name == "MergedWithPrevious") return SplitBehavior::MergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::MergedWithNext;
  if (name == "Contiguous") return SplitBehavior::Contiguous;
  throw Error(ErrorKind::Unsupported, "{}: unknown behavior \"{}\"", where, name);
}

std::unique_ptr<PreTokenizer> metaspace(const json& value, const std::string& where) {
  const std::string replacement = string_or(value, "replacement", "\xE2\x96\x81", where);
  if (replacement.empty() || decode_utf8(replacement, 0).length != replacement.size())
    throw Error("{}: replacement: expected one character", where);
  // Older files have add_prefix_space in place of prepend_scheme.
  const char* old_scheme = flag_or(value, "add_prefix_space", true, where) ? "always" : "never";
  const std::string scheme = string_or(value, "prepend_scheme", old_scheme, where);
  Metaspace::Prepend prepend = Metaspace::Prepend::Always;
  if (scheme == "first")
    prepend = Metaspace::Prepend::First;
  else if (scheme == "never")
    prepend = Metaspace::Prepend::Never;
  else if (scheme != "always")
    throw Error(ErrorKind::Unsupported, "{}: unknown prepend_scheme \"{}\"", where, scheme);
  std::unique_ptr<PreTokenizer> split;
  if (flag_or(value, "split", true, where))
    split = split_on(PatternField{false, replacement}.compile(where), SplitBehavior::MergedWithNext);
  return std::make_unique<Metaspace>(replacement, prepend, std::move(split));
}

}  // namespace

std::unique_ptr<PreTokenizer> split_on(Regex pattern, SplitBehavior behavior, bool invert) {
  return std::make_unique<Split>(std::move(pattern), behavior, invert);
}

namespace {

/// Published expressions look at a run of spaces anew from each of its places, or from each match in it. The
/// same matches, of which a run is looked at once.
std::string linear_in_spaces(std::string_view pattern) {
  // What ends a line, if it does, does so from the first of the spaces on.
  if (pattern == R"(\s+$)") return R"((?<!\s)\s+$)";
  // Behind spaces that were matched without a line's end, none comes (Jais 2).
  return replace_all(pattern, R"(|\s*[\r\n]+|\s{512}(?!\S))", R"(|(?<![^\S\r\n])\s*[\r\n]+|\s{512}(?!\S))");
}

}  // namespace

std::unique_ptr<PreTokenizer> isolated(std::string_view pattern, const std::string& where) {
  if (auto groups = digit_groups(pattern)) return groups;
  return split_on(Regex(linear_in_spaces(pattern), where), SplitBehavior::Isolated);
}

std::unique_ptr<PreTokenizer> in_sequence(std::vector<std::unique_ptr<PreTokenizer>> steps) {
  return std::make_unique<Sequence>(std::move(steps));
}

namespace {

using Steps = std::vector<std::unique_ptr<PreTokenizer>>;

// Types that have no expression stand on Rust's classes: its punctuation, and words by its \w.
constexpr std::string_view kRustPunctuation = R"([\p{P}$+<=>^`|~])";
constexpr std::string_view kRustWordsAndOthers =
    R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}\s]+)";

std::unique_ptr<PreTokenizer> split_step(const json& value, const std::string& where) {
  const PatternField pattern = require_pattern(value, where);
  const SplitBehavior behavior = behavior_of(value, where);
  const bool invert = flag_or(value, "invert", false, where);
  if (pattern.is_regex && behavior == SplitBehavior::Isolated && !invert)
    return isolated(pattern.text, where);
  return split_on(pattern.compile(where), behavior, invert);
}

/// The steps of one component; `mapped`: whether ByteLevel has written the text in its alphabet, which it
/// does last of all, or, as Falcon's does, before others that see that text.
void append_steps(const json& value, const std::string& where, bool last, bool& mapped, Steps& steps) {
  if (value.is_null()) return;
  const std::string type = require_string(value, "type", where);
  const std::string here = where + " (" + type + ")";
  if (type == "Sequence") {
    const json& parts = require_field(value, "pretokenizers", here);
    if (!parts.is_array()) throw Error("{}: pretokenizers: expected an array", here);
    for (std::size_t i = 0; i < parts.size(); ++i)
      append_steps(parts[i], here, last && i + 1 == parts.size(), mapped, steps);
  } else if (type == "Split") {
    steps.push_back(split_step(value, here));
  } else if (type == "Digits") {
    steps.push_back(
        isolated(flag_or(value, "individual_digits", false, here) ? R"(\p{N})" : R"(\p{N}+)", here));
  } else if (type == "Punctuation") {
    const SplitBehavior behavior =
        value.contains("behavior") ? behavior_of(value, here) : SplitBehavior::Isolated;
    steps.push_back(split_on(Regex(kRustPunctuation, here), behavior));
  } else if (type == "WhitespaceSplit" || type == "BertPreTokenizer") {
    steps.push_back(split_on(Regex(R"(\s)", here), SplitBehavior::Removed));
    if (type == "BertPreTokenizer") steps.push_back(isolated(kRustPunctuation, here));
  } else if (type == "Whitespace") {
    steps.push_back(split_on(Regex(kRustWordsAndOthers, here), SplitBehavior::Removed, true));
  } else if (type == "CharDelimiterSplit") {
    steps.push_back(split_on(PatternField{false, require_string(value, "delimiter", here)}.compile(here),
                             SplitBehavior::Removed));
  } else if (type == "ByteLevel") {
    if (mapped) throw Error(ErrorKind::Unsupported, "{}: ByteLevel is supported only once", where);
    if (flag_or(value, "add_prefix_space", true, here)) steps.push_back(std::make_unique<PrefixSpace>());
    if (flag_or(value, "use_regex", true, here)) steps.push_back(isolated(kGpt2Pattern, here));
    if (!last) {
      steps.push_back(std::make_unique<ToByteAlphabet>());
      mapped = true;
    }
  } else if (type == "Metaspace") {
    steps.push_back(metaspace(value, here));
  } else {
    throw Error(ErrorKind::Unsupported, "{}: unknown or unsupported pre_tokenizer type \"{}\"", where, type);
  }
}

}  // namespace

std::unique_ptr<PreTokenizer> PreTokenizer::from_json(const json& value, const std::string& where) {
  if (value.is_null()) return nullptr;
  Steps steps;
  bool mapped = false;
  append_steps(value, where, true, mapped, steps);
  if (mapped) steps.push_back(std::make_unique<FromByteAlphabet>());
  return in_sequence(std::move(steps));
}

}  // namespace augur
