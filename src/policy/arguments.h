#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace augur {

/// A policy and its settings as users write them: NAME or NAME:KEY=VALUE,KEY=VALUE (';' separates, too, for
/// places where commas have a meaning of their own). A policy reads each of its settings once; what nobody
/// has read is unknown.
class PolicyArguments {
 public:
  /// Error for a setting that is not KEY=VALUE, or is given twice.
  explicit PolicyArguments(std::string_view text);

  const std::string& name() const { return name_; }
  bool has(const std::string& key) const { return values_.count(key) > 0; }

  // Each gives `fallback` when the setting is absent, and throws an Error naming policy and setting when its
  // value is not as it must be.
  int integer(const std::string& key, int fallback, int low, int high);
  double number(const std::string& key, double fallback, double low, double high);
  bool flag(const std::string& key, bool fallback);  ///< 0, 1, false, true, off, on
  std::string text(const std::string& key, const std::string& fallback = "");
  /// Error when it is absent.
  std::string required_text(const std::string& key);

  /// Error naming a setting that nobody has asked for, and those that there are.
  void check_all_read() const;

 private:
  [[noreturn]] void fail(const std::string& key, const std::string& problem) const;
  const std::string* find(const std::string& key);

  std::string name_;
  std::map<std::string, std::string> values_;
  std::set<std::string> read_;
};

}  // namespace augur
