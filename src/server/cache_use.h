#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace augur {

/// Counts the tokens of prompts that were looked up among kept texts, and found, by API key
/// (Caller::account). A key sees only its own counts. Thread-safe.
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
  std::map<std::string, Tokens> by_account_;  ///< at most one entry for each key
};

}  // namespace augur
