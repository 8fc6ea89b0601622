#include "plan/own_settings.h"

#include <charconv>

#include "base/error.h"

namespace augur {
namespace {

/// The whole text as a number from `low` to `high`; nothing for anything else.
template <class Number>
std::optional<Number> parsed(const std::string& text, Number low, Number high) {
  Number number{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  // NaN is in no range.
  if (problem != std::errc{} || end != text.data() + text.size() || !(number >= low && number <= high)) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

std::optional<bool> flag_of(std::string_view value) {
  if (value == "1" || value == "true" || value == "on") return true;
  if (value == "0" || value == "false" || value == "off") return false;
  return std::nullopt;
}

void OwnSettings::fail(const std::string& key, const std::string& problem) const {
  throw Error(refused("speculative"), "{}: {}: {}", owner_, key, problem);
}

const std::string* OwnSettings::find(const std::string& key) const {
  read_.insert(key);
  const auto it = values_.find(key);
  return it == values_.end() ? nullptr : &it->second;
}

int OwnSettings::integer(const std::string& key, int fallback, int low, int high) const {
  const std::string* value = find(key);
  if (value == nullptr) return fallback;
  if (const std::optional<int> number = parsed(*value, low, high)) return *number;
  fail(key, fmt::format("expected an integer from {} to {}, found '{}'", low, high, *value));
}

double OwnSettings::number(const std::string& key, double fallback, double low, double high) const {
  const std::string* value = find(key);
  if (value == nullptr) return fallback;
  if (const std::optional<double> number = parsed(*value, low, high)) return *number;
  fail(key, fmt::format("expected a number from {} to {}, found '{}'", low, high, *value));
}

bool OwnSettings::flag(const std::string& key, bool fallback) const {
  const std::string* value = find(key);
  if (value == nullptr) return fallback;
  if (const std::optional<bool> flag = flag_of(*value)) return *flag;
  fail(key, fmt::format("expected 0 or 1, found '{}'", *value));
}

std::string OwnSettings::text(const std::string& key, const std::string& fallback) const {
  const std::string* value = find(key);
  return value == nullptr ? fallback : *value;
}

void OwnSettings::check_all_read() const {
  std::string known;
  for (const std::string& key : read_) known += (known.empty() ? "" : ", ") + key;
  for (const auto& [key, value] : values_) {
    if (read_.count(key) > 0) continue;
    throw Error(refused("speculative"), "{}: unknown setting '{}'; known: {}", owner_, key,
                known.empty() ? "none" : known);
  }
}

}  // namespace augur
