#include "policy/arguments.h"

#include <charconv>

#include "base/error.h"
#include "plan/keys.h"

namespace augur {

std::optional<bool> flag_of(std::string_view value) {
  if (value == "1" || value == "true" || value == "on") return true;
  if (value == "0" || value == "false" || value == "off") return false;
  return std::nullopt;
}

void PolicyArguments::fail(const std::string& key, const std::string& problem) const {
  throw Error("policy {}: {}: {}", name(), key, problem);
}

const std::string* PolicyArguments::find(const std::string& key) {
  read_.insert(key);
  const auto it = plan_.policy.settings.find(key);
  return it == plan_.policy.settings.end() ? nullptr : &it->second;
}

int PolicyArguments::limit(std::optional<int> SpeculationPlan::*limit, std::string_view own,
                           std::optional<int> usual) {
  const PlanKey& key = key_of(limit);
  read_limits_.insert(key.key);
  const int fallback = (plan_.*limit).value_or(usual.value_or(static_cast<int>(key.usual)));
  return integer(std::string(own.empty() ? key.key : own), fallback, static_cast<int>(key.least),
                 static_cast<int>(key.most));
}

double PolicyArguments::limit(std::optional<double> SpeculationPlan::*limit) {
  const PlanKey& key = key_of(limit);
  read_limits_.insert(key.key);
  return number(std::string(key.key), value_of(plan_, limit), key.least, key.most);
}

std::string PolicyArguments::limit(std::string SpeculationPlan::*limit) {
  const PlanKey& key = key_of(limit);
  read_limits_.insert(key.key);
  return text(std::string(key.key), plan_.*limit);
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
  if (const std::optional<bool> flag = flag_of(*value)) return *flag;
  fail(key, fmt::format("expected 0 or 1, found '{}'", *value));
}

std::string PolicyArguments::text(const std::string& key, const std::string& fallback) {
  const std::string* value = find(key);
  return value == nullptr ? fallback : *value;
}

void PolicyArguments::check_all_read() const {
  std::string known;
  for (const std::string& key : read_) known += (known.empty() ? "" : ", ") + key;
  for (const auto& [key, value] : plan_.policy.settings) {
    if (read_.count(key) > 0) continue;
    throw Error("policy {}: unknown setting '{}'; known: {}", name(), key, known.empty() ? "none" : known);
  }
  for (const PlanKey& limit : plan_keys()) {
    if (limit.shape == PlanKey::Shape::None || !is_given(plan_, limit)) continue;
    if (read_limits_.count(limit.key) > 0) continue;
    throw Error("policy {}: {}: with these settings it is not read", name(), limit.key);
  }
}

}  // namespace augur
