#include "server/tools/xml_call_reader.h"

#include <array>

namespace augur {
namespace {

constexpr std::string_view kArgument = "<parameter=";
constexpr std::string_view kValueEnd = "</parameter>";
/// What ends a call. The second stands where a model has forgotten the first.
constexpr std::array<std::string_view, 2> kEnds = {"</function>", "</tool_call>"};

}  // namespace

std::size_t XmlCallReader::read_call(std::string_view text) {
  return read(text, [&](char ch) { return step(ch); });
}

bool XmlCallReader::step(char c) {
  switch (where_) {
    case Where::Begin:
      held_ += c;
      if (!kBegin.starts_with(held_)) return false;
      if (held_ == kBegin) {
        held_.clear();
        where_ = Where::Name;
      }
      return true;
    case Where::Name:
    case Where::ArgumentName: {
      std::string& name = where_ == Where::Name ? name_ : argument_;
      if (c == '>') {
        if (name.empty()) return false;
        if (where_ == Where::ArgumentName)
          begin_argument();
        else
          where_ = Where::Between;
        return true;
      }
      name += c;
      return c != '\n' && c != '<';
    }
    case Where::Between:
      return step_between(c);
    case Where::Value:
      return step_value(c);
  }
  return false;
}

bool XmlCallReader::step_between(char c) {
  if (held_.empty() && is_call_space(c)) return true;
  held_ += c;
  if (held_ == kArgument) {
    held_.clear();
    argument_.clear();
    where_ = Where::ArgumentName;
    return true;
  }
  bool fits = kArgument.starts_with(held_);
  for (const std::string_view end : kEnds) {
    if (held_ == end) {
      end_call();
      return true;
    }
    fits |= end.starts_with(held_);
  }
  return fits;
}

void XmlCallReader::begin_argument() {
  known_ = true;
  where_ = Where::Value;
  value_begun_ = false;
  value_.clear();
  const auto function = functions_->find(name_);
  kinds_ = function == functions_->end() ? unsigned{kJsonAny} : function->second.kinds_of(argument_);
  dropped_ = !seen_.insert(argument_).second;
  if (dropped_) return;
  arguments_ += seen_.size() == 1 ? "{\"" : ", \"";
  append_json_text(arguments_, argument_);
  arguments_ += "\": ";
  if (kinds_ == kJsonText) arguments_ += '"';
}

bool XmlCallReader::step_value(char c) {
  // The line break behind <parameter=P> is none of the value's.
  if (!value_begun_) {
    value_begun_ = true;
    if (c == '\n') return true;
  }
  held_ += c;
  if (in_space_ && is_call_space(c)) return true;
  in_space_ = false;
  std::size_t at = 0;  // bytes before it are the value's
  for (; at < held_.size(); ++at) {
    const Fit fit = ends_value(std::string_view(held_).substr(at));
    if (fit == Fit::None) continue;
    value_text(std::string_view(held_).substr(0, at));
    held_.erase(0, at);
    if (fit == Fit::Whole) end_value();
    return true;
  }
  value_text(held_);
  held_.clear();
  return true;
}

/// Whether a value ends here, with what has to stand behind it.
XmlCallReader::Fit XmlCallReader::ends_value(std::string_view rest) {
  if (rest.starts_with('\n')) rest.remove_prefix(1);
  if (rest.size() <= kValueEnd.size()) {
    if (!kValueEnd.starts_with(rest)) return Fit::None;
    in_space_ = rest.size() == kValueEnd.size();
    return Fit::Part;
  }
  if (!rest.starts_with(kValueEnd)) return Fit::None;
  rest.remove_prefix(kValueEnd.size());
  while (!rest.empty() && is_call_space(rest.front())) rest.remove_prefix(1);
  in_space_ = rest.empty();
  if (rest.empty()) return Fit::Part;
  for (const std::string_view next : {kArgument, kEnds[0], kEnds[1]}) {
    if (rest == next) return Fit::Whole;
    if (next.starts_with(rest)) return Fit::Part;
  }
  return Fit::None;
}

void XmlCallReader::value_text(std::string_view part) {
  if (dropped_) return;
  if (kinds_ == kJsonText)
    append_json_text(arguments_, part);
  else
    value_ += part;
}

void XmlCallReader::end_value() {
  const bool more = held_.ends_with(kArgument);
  held_.clear();
  in_space_ = false;
  if (!dropped_) arguments_ += kinds_ == kJsonText ? "\"" : json_of_raw(value_, kinds_);
  if (!more) return end_call();
  argument_.clear();
  where_ = Where::ArgumentName;
}

void XmlCallReader::end_call() {
  held_.clear();
  known_ = true;
  arguments_ += seen_.empty() ? "{}" : "}";
  state_ = CallState::Done;
}

}  // namespace augur
