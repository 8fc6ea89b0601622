#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <utility>

namespace augur {

/// What texts leave for later ones, separately for each owner, so that one owner's text is never proposed to
/// another. Total size is bounded; the least recently used memories are dropped first. For one thread at a
/// time.
///
/// A Memory has bytes(), its size, 0 after release(); limit_bytes(bytes), which sets its largest size;
/// clear(); and release(), which also frees its memory.
template <class Memory>
class OwnersMemory {
 public:
  using Make = std::function<std::shared_ptr<Memory>()>;
  static constexpr std::size_t kMostOwners = 256;  ///< besides those that sequences hold

  /// `make` makes an empty memory; `bytes` limits all of them together.
  OwnersMemory(Make make, std::int64_t bytes) : make_(std::move(make)), most_bytes_(bytes) {}

  /// The owner's memory, marked as used. It remains the owner's as long as someone holds it, but its contents
  /// may be dropped meanwhile.
  std::shared_ptr<Memory> of(const std::string& owner) { return of(owner, {}, make_); }
  /// The same for memories with settings that requests choose: the owner has a separate one, made by `make`,
  /// for each value of `settings`.
  std::shared_ptr<Memory> of(const std::string& owner, const std::string& settings, const Make& make) {
    limit(most_bytes_);
    const auto found = std::find_if(owners_.begin(), owners_.end(), [&](const Owner& o) {
      return o.name == owner && o.settings == settings;
    });
    if (found != owners_.end()) {
      owners_.splice(owners_.begin(), owners_, found);
    } else {
      forget_unused();
      owners_.push_front({owner, settings, make()});
      owners_.front().memory->limit_bytes(most_bytes_);
    }
    return owners_.front().memory;
  }

  std::int64_t bytes() const {
    std::int64_t bytes = 0;
    for (const Owner& owner : owners_) bytes += owner.memory->bytes();
    return bytes;
  }
  /// Limits the size of all to `bytes`. What sequences add later counts at the next call.
  void limit(std::int64_t bytes) {
    if (bytes != most_bytes_) {
      most_bytes_ = bytes;
      for (const Owner& owner : owners_) owner.memory->limit_bytes(most_bytes_);
    }
    while (this->bytes() > most_bytes_ && drop_oldest()) {
    }
  }
  /// Drops the contents of the least recently used memory. Returns false if all are empty.
  bool drop_oldest() {
    const auto oldest = std::find_if(owners_.rbegin(), owners_.rend(),
                                     [](const Owner& owner) { return owner.memory->bytes() > 0; });
    if (oldest == owners_.rend()) return false;
    const auto owner = std::prev(oldest.base());
    owner->memory->release();
    if (owner->memory.use_count() == 1) owners_.erase(owner);
    return true;
  }
  /// Clears the memories of all owners.
  void clear() {
    for (const Owner& owner : owners_) owner.memory->clear();
  }
  std::size_t owners() const { return owners_.size(); }

 private:
  struct Owner {
    std::string name;
    std::string settings;
    std::shared_ptr<Memory> memory;
  };

  /// Drops unheld memories, least recently used first, until there is a place for one more owner.
  void forget_unused() {
    for (auto o = owners_.end(); owners_.size() >= kMostOwners && o != owners_.begin();) {
      const auto oldest = std::prev(o);
      if (oldest->memory.use_count() > 1) {
        o = oldest;
      } else {
        owners_.erase(oldest);
      }
    }
  }

  Make make_;
  std::int64_t most_bytes_;
  std::list<Owner> owners_;  ///< the one used last first
};

}  // namespace augur
