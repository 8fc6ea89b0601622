#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace augur {

/// A setting that is on or off, as it is written: 0, 1, false, true, off, on; nothing for anything else.
std::optional<bool> flag_of(std::string_view value);

/// Settings that a drafter or a policy has of its own. It names them by reading them, each with its bounds
/// and what it is where it is not given; what nobody has read is unknown.
class OwnSettings {
 public:
  using Values = std::map<std::string, std::string, std::less<>>;

  /// None are given.
  OwnSettings() = default;
  /// `owner`: whose they are, as errors say it: "policy hetero".
  OwnSettings(std::string owner, Values values) : owner_(std::move(owner)), values_(std::move(values)) {}

  bool has(std::string_view key) const { return values_.find(key) != values_.end(); }

  // Each gives `fallback` when the setting is absent, and throws an Error naming owner and setting when its
  // value is not as it must be.
  int integer(const std::string& key, int fallback, int low, int high) const;
  double number(const std::string& key, double fallback, double low, double high) const;
  bool flag(const std::string& key, bool fallback) const;  ///< flag_of()
  std::string text(const std::string& key, const std::string& fallback = "") const;

  /// Error naming a setting that nobody has asked for, and those that there are.
  void check_all_read() const;

 private:
  [[noreturn]] void fail(const std::string& key, const std::string& problem) const;
  const std::string* find(const std::string& key) const;

  std::string owner_;
  Values values_;
  mutable std::set<std::string> read_;
};

}  // namespace augur
