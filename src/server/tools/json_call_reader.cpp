#include "server/tools/json_call_reader.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace augur {

std::size_t JsonCallReader::read_call(std::string_view text) {
  return read(text, [&](char c) {
    const std::size_t before = arguments_.size();
    if (step(c)) return true;
    arguments_.resize(before);  // what breaks the call is no part of it
    return false;
  });
}

std::string JsonCallReader::take_arguments() {
  if (state_ == CallState::Done && !has_arguments_) {
    has_arguments_ = true;
    return "{}";
  }
  return CallReader::take_arguments();
}

bool JsonCallReader::step(char c) {
  if (reading_) return inside_value(c);
  return is_call_space(c) || between(c);
}

bool JsonCallReader::between(char c) {
  switch (expect_) {
    case Expect::Begin:
      expect_ = Expect::KeyOrEnd;
      return c == '{';
    case Expect::KeyOrEnd:
    case Expect::CommaOrEnd:
      if (c == '}') {
        state_ = CallState::Done;
        return true;
      }
      if (expect_ == Expect::CommaOrEnd) {
        expect_ = Expect::Key;
        return c == ',';
      }
      [[fallthrough]];
    case Expect::Key:
      if (c != '"') return false;
      expect_ = Expect::Key;
      begin_value(c);
      return true;
    case Expect::Colon:
      expect_ = Expect::Value;
      return c == ':';
    case Expect::Value: {
      is_arguments_ = key_ == "arguments" || key_ == "parameters";
      // A second one, or one that is no object, is no call's.
      if (is_arguments_ && (has_arguments_ || c != '{')) return false;
      has_arguments_ |= is_arguments_;
      begin_value(c);
      return c != ',' && c != '}' && c != ']' && c != ':';
    }
  }
  return false;
}

void JsonCallReader::begin_value(char c) {
  reading_ = true;
  raw_.clear();
  (is_arguments_ ? arguments_ : raw_) = c;
  in_string_ = c == '"';
  if (c == '{' || c == '[') open_ = c;
}

bool JsonCallReader::inside_value(char c) {
  const bool scalar = open_.empty() && !in_string_;
  if (scalar && (c == ',' || c == '}' || is_call_space(c))) {
    end_value();
    return state_ != CallState::Broken && step(c);
  }
  (is_arguments_ ? arguments_ : raw_) += c;
  if (in_string_) {
    if (static_cast<unsigned char>(c) < 0x20) return false;
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      if (open_.empty()) end_value();
    }
    return state_ != CallState::Broken;
  }
  if (c == '"') {
    in_string_ = true;
  } else if (c == '{' || c == '[') {
    open_ += c;
  } else if (c == '}' || c == ']') {
    if (open_.back() != (c == '}' ? '{' : '[')) return false;
    open_.pop_back();
    if (open_.empty()) end_value();
  }
  return state_ != CallState::Broken;
}

void JsonCallReader::end_value() {
  reading_ = false;
  if (std::exchange(is_arguments_, false)) {
    expect_ = Expect::CommaOrEnd;
    if (alone_) state_ = CallState::Done;
    return;
  }
  const nlohmann::json value = nlohmann::json::parse(raw_, nullptr, false);
  if (value.is_discarded()) {
    state_ = CallState::Broken;
  } else if (expect_ == Expect::Key) {
    key_ = value.get<std::string>();
    expect_ = Expect::Colon;
  } else {
    if (key_ == "name" && value.is_string()) name_ = value.get<std::string>();
    expect_ = Expect::CommaOrEnd;
  }
}

}  // namespace augur
