#include "text/tokenizer/normalizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "text/tokenizer/fields.h"

namespace augur {
namespace {

std::string replace_matches(std::string_view text, const Regex& pattern, std::string_view content) {
  std::vector<RegexSpan> spans;
  pattern.split(text, spans);
  std::string out;
  for (const RegexSpan& span : spans) out += span.matched ? content : span.text;
  return out;
}

}  // namespace

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(text.size());
  std::size_t done = 0;
  for (std::size_t found; (found = text.find(from, done)) != std::string_view::npos;
       done = found + from.size()) {
    out += text.substr(done, found - done);
    out += to;
  }
  out += text.substr(done);
  return out;
}

Normalizer Normalizer::from_json(const nlohmann::json& value, const std::string& where) {
  std::vector<Step> steps;
  append_steps(value, where, steps);
  return Normalizer(std::move(steps));
}

void Normalizer::append_steps(const nlohmann::json& value, const std::string& where,
                              std::vector<Step>& steps) {
  if (value.is_null()) return;
  const std::string type = require_string(value, "type", where);
  const std::string here = where + " (" + type + ")";
  if (type == "Sequence") {
    const nlohmann::json& parts = require_field(value, "normalizers", here);
    if (!parts.is_array()) throw Error("{}: normalizers: expected an array", here);
    for (const nlohmann::json& part : parts) append_steps(part, here, steps);
  } else if (type == "NFC") {
    steps.emplace_back(NormalForm::Nfc);
  } else if (type == "NFD") {
    steps.emplace_back(NormalForm::Nfd);
  } else if (type == "NFKC") {
    steps.emplace_back(NormalForm::Nfkc);
  } else if (type == "NFKD") {
    steps.emplace_back(NormalForm::Nfkd);
  } else if (type == "Prepend") {
    steps.emplace_back(Prepend{require_string(value, "prepend", here), false});
  } else if (type == "Replace") {
    const PatternField pattern = require_pattern(value, here);
    Replace step{std::nullopt, pattern.text, require_string(value, "content", here)};
    if (pattern.is_regex)
      step.pattern = pattern.compile(here);
    else if (pattern.text.empty())
      throw Error("{}: pattern: expected text, found an empty string", here);
    steps.emplace_back(std::move(step));
  } else {
    throw Error(ErrorKind::Unsupported, "{}: unknown or unsupported normalizer type \"{}\"", where, type);
  }
}

namespace {

char joint_mark(const std::string& marks, std::size_t begin, std::size_t end) {
  return marks.substr(begin, end - begin).find('\1') == std::string::npos ? '\0' : '\1';
}

/// A piece of `text` is replaced, the rest copied.
class MarkedCopy {
 public:
  MarkedCopy(std::string_view text, const std::string& marks) : text_(text), marks_(marks) {}
  void copy_to(std::size_t end) {
    out.append(text_, done_, end - done_);
    out_marks.append(marks_, done_, end - done_);
    done_ = end;
  }
  void replace_to(std::size_t end, std::string_view content) {
    out += content;
    out_marks.append(content.size(), joint_mark(marks_, done_, end));
    done_ = end;
  }
  std::string out;
  std::string out_marks;

 private:
  std::string_view text_;
  const std::string& marks_;
  std::size_t done_ = 0;
};

std::string replace_marked(std::string_view text, const Normalizer::Replace& step, std::string& marks) {
  MarkedCopy copy(text, marks);
  if (step.pattern) {
    std::vector<RegexSpan> spans;
    step.pattern->split(text, spans);
    std::size_t end = 0;
    for (const RegexSpan& span : spans) {
      end += span.text.size();
      span.matched ? copy.replace_to(end, step.content) : copy.copy_to(end);
    }
  } else {
    for (std::size_t found = 0; (found = text.find(step.literal, found)) != std::string_view::npos;) {
      copy.copy_to(found);
      copy.replace_to(found += step.literal.size(), step.content);
    }
    copy.copy_to(text.size());
  }
  marks = std::move(copy.out_marks);
  return std::move(copy.out);
}

/// No normal form composes an ASCII character with what is before it: from one to the next, texts are
/// normalised by themselves. Where a piece's marked and other parts cannot be, all of it is marked.
std::string normalize_marked(std::string_view text, NormalForm form, std::string& marks) {
  MarkedCopy copy(text, marks);
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin + 1;
    while (end < text.size() && static_cast<unsigned char>(text[end]) >= 0x80) ++end;
    const std::string whole = normalize_utf8(text.substr(begin, end - begin), form);
    if (whole == text.substr(begin, end - begin)) {
      copy.copy_to(end);
    } else {
      std::vector<std::pair<std::size_t, std::string>> runs;
      std::string joined;
      for (std::size_t run = begin; run < end;) {
        const std::size_t next = std::min(marks.find(marks[run] == '\1' ? '\0' : '\1', run), end);
        runs.emplace_back(next, normalize_utf8(text.substr(run, next - run), form));
        joined += runs.back().second;
        run = next;
      }
      if (joined == whole)
        for (const auto& [next, normal] : runs) copy.replace_to(next, normal);
      else
        copy.replace_to(end, whole);
    }
    begin = end;
  }
  marks = std::move(copy.out_marks);
  return std::move(copy.out);
}

}  // namespace

std::string Normalizer::apply(std::string_view text, bool starts_text, std::string& marks) const {
  std::string out(text);
  for (const Step& step : steps_) {
    if (const auto* form = std::get_if<NormalForm>(&step)) {
      out = normalize_marked(out, *form, marks);
    } else if (const auto* prepend = std::get_if<Prepend>(&step)) {
      if (out.empty() || (!starts_text && prepend->only_first)) continue;
      out.insert(0, prepend->text);
      marks.insert(0, prepend->text.size(), '\0');
    } else if (const auto* replace = std::get_if<Replace>(&step)) {
      out = replace_marked(out, *replace, marks);
    }
  }
  return out;
}

std::string Normalizer::apply(std::string_view text, bool starts_text) const {
  std::string out(text);
  for (const Step& step : steps_) {
    if (const auto* form = std::get_if<NormalForm>(&step)) {
      out = normalize_utf8(out, *form);
    } else if (const auto* prepend = std::get_if<Prepend>(&step)) {
      if (!out.empty() && (starts_text || !prepend->only_first)) out.insert(0, prepend->text);
    } else if (const auto* replace = std::get_if<Replace>(&step)) {
      out = replace->pattern ? replace_matches(out, *replace->pattern, replace->content)
                             : replace_all(out, replace->literal, replace->content);
    }
  }
  return out;
}

}  // namespace augur
