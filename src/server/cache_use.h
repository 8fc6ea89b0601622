#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace augur {

/// How many tokens of prompts were looked for among kept texts, and found, by API key (Caller::account): a
/// key is told its own alone. Thread-safe.
class CacheUse {
 public:
  struct Tokens {
    std::int64_t prompt = 0;
    std::int64_t cached = 0;
  };

  void add(const std::string& account, const Tokens& tokens) {
    const std::lock_guard lock(mutex_);
    Tokens& sum = by_account_[account];
    sum.prompt += tokens.prompt;
    sum.cached += tokens.cached;
  }
  Tokens of(const std::string& account) const {
    const std::lock_guard lock(mutex_);
    const auto found = by_account_.find(account);
    return found == by_account_.end() ? Tokens{} : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Tokens> by_account_;  ///< no more than there are keys
};

}  // namespace augur
