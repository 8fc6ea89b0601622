#include "server/tools/xml_call_reader.h"

namespace augur {

std::size_t XmlCallReader::read_call(std::string_view text) {
  return read(text, [&](char ch) { return step(ch); });
}

bool XmlCallReader::step(char c) {
  switch (where_) {
    case Where::Begin:
      held_ += c;
      if (held_ != tags_->begin) return tags_->begin.starts_with(held_);
      held_.clear();
      where_ = Where::Name;
      return true;
    case Where::Name:
      return step_name(c);
    case Where::Between:
      return step_between(c);
    case Where::ArgumentName: {
      bool ended = false;
      if (!add_to_name(argument_, c, tags_->argument_end, ended)) return false;
      if (!ended) return true;
      if (tags_->value.empty())
        begin_argument();
      else
        where_ = Where::BeforeValue;
      return true;
    }
    case Where::BeforeValue:
      if (held_.empty() && is_call_space(c)) return true;
      held_ += c;
      if (held_ != tags_->value) return tags_->value.starts_with(held_);
      held_.clear();
      begin_argument();
      return true;
    case Where::Value:
      return step_value(c);
  }
  return false;
}

bool XmlCallReader::step_name(char c) {
  if (!tags_->name_end.empty()) {
    bool ended = false;
    if (!add_to_name(name_, c, tags_->name_end, ended)) return false;
    if (ended) where_ = Where::Between;
    return true;
  }
  if (c != '<' && !is_call_space(c)) {
    name_ += c;
    return true;
  }
  where_ = Where::Between;
  return !name_.empty() && step_between(c);
}

bool XmlCallReader::step_between(char c) {
  if (held_.empty() && is_call_space(c)) return true;
  held_ += c;
  if (held_ == tags_->argument) {
    held_.clear();
    argument_.clear();
    where_ = Where::ArgumentName;
    return true;
  }
  bool fits = tags_->argument.starts_with(held_);
  for (const std::string_view end : tags_->ends) {
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
  if (!value_begun_ && tags_->lines) {
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
  if (tags_->lines && rest.starts_with('\n')) rest.remove_prefix(1);
  if (rest.size() <= tags_->value_end.size()) {
    if (!tags_->value_end.starts_with(rest)) return Fit::None;
    in_space_ = rest.size() == tags_->value_end.size();
    return Fit::Part;
  }
  if (!rest.starts_with(tags_->value_end)) return Fit::None;
  rest.remove_prefix(tags_->value_end.size());
  while (!rest.empty() && is_call_space(rest.front())) rest.remove_prefix(1);
  in_space_ = rest.empty();
  if (rest.empty()) return Fit::Part;
  for (const std::string_view next : {tags_->argument, tags_->ends[0], tags_->ends[1]}) {
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
  const bool more = held_.ends_with(tags_->argument);
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
