#include "server/keys/key_ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "server/digest.h"
#include "server/same_key.h"

namespace augur {
namespace {

constexpr const char* kMetricsName = "metrics";

/// Refuses what two lines say differently.
void check_alike(const std::vector<ApiKey>& keys) {
  std::map<std::string_view, const ApiKey*> by_secret;
  std::map<std::string_view, const ApiKey*> by_name;
  for (const ApiKey& key : keys) {
    const auto [same, fresh] = by_secret.emplace(key.secret, &key);
    if (!fresh && same->second->name != key.name) {
      throw Error("{}: expected a key of its own: it is that of {}, too", key.origin, same->second->origin);
    }
    if (key.name.empty()) continue;
    const ApiKey& first = *by_name.emplace(key.name, &key).first->second;
    if (first.limits != key.limits || first.metrics_only != key.metrics_only) {
      throw Error("{}: expected the same behind each key of '{}': {} says something else", key.origin,
                  key.name, first.origin);
    }
  }
}

void check_any(const std::vector<ApiKey>& keys, const std::string& source) {
  const bool any = std::any_of(keys.begin(), keys.end(), [](const ApiKey& key) { return !key.metrics_only; });
  if (!any) throw Error("{}: expected an API key in each line, found none", source);
}

}  // namespace

KeyRing::KeyRing(KeySources sources, const Clock& clock)
    : sources_(std::move(sources)),
      clock_(clock),
      locks_(!sources_.lines.empty() || !sources_.file.empty()),
      entries_(std::make_shared<const Entries>(entries_of(read()))) {}

std::vector<ApiKey> KeyRing::read() const {
  constexpr const char* kFlag = "--api-key";
  std::vector<ApiKey> keys;
  const auto add = [&](std::vector<ApiKey> more) {
    keys.insert(keys.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  for (const std::string& line : sources_.lines) {
    std::vector<ApiKey> parsed = parse_keys(line, kFlag);
    if (parsed.empty()) {
      throw Error("{}: an API key is empty: expected one that clients can send, or none at all", kFlag);
    }
    add(std::move(parsed));
  }
  if (!sources_.file.empty()) {
    std::vector<ApiKey> parsed = read_key_file(sources_.file);
    if (keys.empty()) check_any(parsed, sources_.file);
    add(std::move(parsed));
  }
  if (locks_) check_any(keys, kFlag);
  if (!sources_.metrics_key.empty()) {
    const std::string flag = "--metrics-key";
    std::vector<ApiKey> parsed =
        parse_keys(fmt::format("{}:{} metrics", kMetricsName, sources_.metrics_key), flag);
    add(std::move(parsed));
  }
  check_alike(keys);
  return keys;
}

std::shared_ptr<KeyAccount> KeyRing::account_of(const ApiKey& key) {
  // No key has a blank: a name's digest is no key's.
  const std::string id = digest(key.name.empty() ? key.secret : "the keys of " + key.name);
  for (const auto& known : all_) {
    if (known->id() == id) return known;
  }
  const std::string name = key.name.empty() ? fmt::format("key-{}", ++unnamed_) : key.name;
  return all_.emplace_back(std::make_shared<KeyAccount>(name, id, clock_));
}

KeyRing::Entries KeyRing::entries_of(std::vector<ApiKey> keys) {
  Entries entries;
  for (ApiKey& key : keys) {
    const Holder holder = {.account = account_of(key), .metrics_only = key.metrics_only};
    holder.account->set_limits(key.limits);
    entries.secrets.push_back(std::move(key.secret));
    entries.limits.push_back(key.limits);
    entries.holders.push_back(holder);
  }
  return entries;
}

KeyRing::ByName KeyRing::by_name(const Entries& entries) {
  ByName names;
  for (std::size_t i = 0; i < entries.secrets.size(); ++i) {
    names[entries.holders[i].account->name()].emplace_back(entries.secrets[i], entries.limits[i]);
  }
  return names;
}

KeyRing::Holder KeyRing::find(std::string_view sent) const {
  if (sent.size() > ApiKey::kLongestSecret) return {};  // each of its bytes would be read once for each key
  std::shared_ptr<const Entries> entries;
  {
    const std::lock_guard lock(mutex_);
    entries = entries_;
  }
  const std::optional<std::size_t> found = index_of_key(sent, entries->secrets);
  return found ? entries->holders[*found] : Holder{};
}

std::size_t KeyRing::accounts() const {
  const std::lock_guard lock(mutex_);
  std::set<const KeyAccount*> accounts;
  for (const Holder& holder : entries_->holders) {
    if (!holder.metrics_only) accounts.insert(holder.account.get());
  }
  return accounts.size();
}

KeyChange KeyRing::reload() {
  if (sources_.file.empty()) return {};
  if (!std::filesystem::is_regular_file(sources_.file)) {
    throw Error("{}: expected a file that can be read again", sources_.file);
  }
  std::vector<ApiKey> keys = read();
  const std::lock_guard lock(mutex_);
  const auto before = std::exchange(entries_, std::make_shared<const Entries>(entries_of(std::move(keys))));
  const auto had = by_name(*before);
  const auto has = by_name(*entries_);
  KeyChange change;
  for (const auto& [name, keys_of] : has) {
    const auto old = had.find(name);
    if (old == had.end()) {
      change.added.push_back(name);
    } else if (old->second != keys_of) {
      change.changed.push_back(name);
    }
  }
  for (const auto& [name, keys_of] : had) {
    if (!has.contains(name)) change.removed.push_back(name);
  }
  return change;
}

std::vector<std::shared_ptr<KeyAccount>> KeyRing::all() const {
  const std::lock_guard lock(mutex_);
  return all_;
}

}  // namespace augur
