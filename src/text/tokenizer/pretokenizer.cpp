#include "text/tokenizer/pretokenizer.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/utf8.h"
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
  throw Error("{}: unknown behavior \"{}\"", where, name);
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
    throw Error("{}: unknown prepend_scheme \"{}\"", where, scheme);
  std::unique_ptr<PreTokenizer> split;
  if (flag_or(value, "split", true, where))
    split = split_on(PatternField{false, replacement}.compile(where), SplitBehavior::MergedWithNext);
  return std::make_unique<Metaspace>(replacement, prepend, std::move(split));
}

}  // namespace

std::unique_ptr<PreTokenizer> split_on(Regex pattern, SplitBehavior behavior, bool invert) {
  return std::make_unique<Split>(std::move(pattern), behavior, invert);
}

std::unique_ptr<PreTokenizer> in_sequence(std::vector<std::unique_ptr<PreTokenizer>> steps) {
  return std::make_unique<Sequence>(std::move(steps));
}

std::unique_ptr<PreTokenizer> PreTokenizer::from_json(const json& value, const std::string& where) {
  if (value.is_null()) return nullptr;
  const std::string type = require_string(value, "type", where);
  const std::string here = where + " (" + type + ")";
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  if (type == "Sequence") {
    const json& parts = require_field(value, "pretokenizers", here);
    if (!parts.is_array()) throw Error("{}: pretokenizers: expected an array", here);
    for (const json& part : parts)
      if (auto step = from_json(part, here)) steps.push_back(std::move(step));
    return in_sequence(std::move(steps));
  }
  if (type == "Split")
    return split_on(require_pattern(value, here).compile(here), behavior_of(value, here),
                    flag_or(value, "invert", false, here));
  if (type == "Digits") {
    const bool individual = flag_or(value, "individual_digits", false, here);
    return split_on(Regex(individual ? R"(\p{N})" : R"(\p{N}+)", here), SplitBehavior::Isolated);
  }
  if (type == "ByteLevel") {
    if (flag_or(value, "add_prefix_space", true, here)) steps.push_back(std::make_unique<PrefixSpace>());
    if (flag_or(value, "use_regex", true, here))
      steps.push_back(split_on(Regex(kGpt2Pattern, here), SplitBehavior::Isolated));
    return in_sequence(std::move(steps));
  }
  if (type == "Metaspace") return metaspace(value, here);
  throw Error("{}: unknown or unsupported pre_tokenizer type \"{}\"", where, type);
}

}  // namespace augur
