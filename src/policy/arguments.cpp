#include "policy/arguments.h"

#include <charconv>

#include "base/error.h"

namespace augur {

PolicyArguments::PolicyArguments(std::string_view text) {
  const std::size_t colon = text.find(':');
  name_ = text.substr(0, colon);
  std::string_view rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  while (!rest.empty()) {
    const std::string_view setting = rest.substr(0, rest.find_first_of(",;"));
    rest.remove_prefix(std::min(rest.size(), setting.size() + 1));
    const std::size_t equals = setting.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      throw Error("policy {}: '{}' is not KEY=VALUE", name_, setting);
    }
    const std::string key(setting.substr(0, equals));
    if (!values_.emplace(key, setting.substr(equals + 1)).second) {
      throw Error("policy {}: {} is given twice", name_, key);
    }
  }
}

void PolicyArguments::fail(const std::string& key, const std::string& problem) const {
  throw Error("policy {}: {}: {}", name_, key, problem);
}

const std::string* PolicyArguments::find(const std::string& key) {
  read_.insert(key);
  const auto it = values_.find(key);
  return it == values_.end() ? nullptr : &it->second;
}

int PolicyArguments::integer(const std::string& key, int fallback, int low, int high) {
  const std::string* value = find(key);
  if (value == nullptr) return fallback;
  int number = 0;
  const auto [end, problem] = std::from_chars(value->data(), value->data() + value->size(), number);
  if (problem != std::errc{} || end != value->data() + value->size() || number < low || number > high) {
    fail(key, fmt::format("expected an integer from {} to {}, found '{}'", low, high, *value));
  }
  return number;
}

double PolicyArguments::number(const std::string& key, double fallback, double low, double high) {
  const std::string* value = find(key);
  if (value == nullptr) return fallback;
  double number = 0;
  const auto [end, problem] = std::from_chars(value->data(), value->data() + value->size(), number);
  if (problem != std::errc{} || end != value->data() + value->size() || !(number >= low && number <= high)) {
    fail(key, fmt::format("expected a number from {} to {}, found '{}'", low, high, *value));
  }
  return number;
}

bool PolicyArguments::flag(const std::string& key, bool fallback) {
  const std::string* value = find(key);
  if (value == nullptr) return fallback;
  if (*value == "1" || *value == "true" || *value == "on") return true;
  if (*value == "0" || *value == "false" || *value == "off") return false;
  fail(key, fmt::format("expected 0 or 1, found '{}'", *value));
}

std::string PolicyArguments::text(const std::string& key, const std::string& fallback) {
  const std::string* value = find(key);
  return value == nullptr ? fallback : *value;
}

std::string PolicyArguments::required_text(const std::string& key) {
  const std::string* value = find(key);
  if (value == nullptr || value->empty()) throw Error("policy {} needs {}=...", name_, key);
  return *value;
}

void PolicyArguments::check_all_read() const {
  std::string known;
  for (const std::string& key : read_) known += (known.empty() ? "" : ", ") + key;
  for (const auto& [key, value] : values_) {
    if (read_.count(key) > 0) continue;
    throw Error("policy {}: unknown setting '{}'; known: {}", name_, key, known.empty() ? "none" : known);
  }
}

}  // namespace augur
