#include "io/tokenizer/normalizer.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "io/tokenizer/fields.h"

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
    throw Error("{}: unknown or unsupported normalizer type \"{}\"", where, type);
  }
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
