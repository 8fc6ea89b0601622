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

/// What texts leave for later ones, each owner's apart: what one has written is never proposed to another. Of
/// bounded size over all owners; what was used least recently goes first. One thread at a time.
///
/// A Memory has: bytes(), what it takes, 0 once it was released; limit_bytes(bytes), no more than so many
/// from here on; clear(); and release(), which also gives back what it took.
template <class Memory>
class OwnersMemory {
 public:
  using Make = std::function<std::shared_ptr<Memory>()>;
  static constexpr std::size_t kMostOwners = 256;  ///< beside those that sequences have in hand

  /// `make` makes an empty one; `bytes`: of all together.
  OwnersMemory(Make make, std::int64_t bytes) : make_(std::move(make)), most_bytes_(bytes) {}

  /// The owner's, which counts as used. It stays the owner's as long as it is held; what it holds may be
  /// forgotten meanwhile.
  std::shared_ptr<Memory> of(const std::string& owner) { return of(owner, {}, make_); }
  /// The same where memories have settings, which texts choose: the owner has one of its own for each of
  /// `settings`, which `make` makes empty.
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
  /// No more than so many bytes from here on. What is left behind later counts at the next call.
  void limit(std::int64_t bytes) {
    if (bytes != most_bytes_) {
      most_bytes_ = bytes;
      for (const Owner& owner : owners_) owner.memory->limit_bytes(most_bytes_);
    }
    while (this->bytes() > most_bytes_ && drop_oldest()) {
    }
  }
  /// Forgets what was used least recently. False: there is nothing.
  bool drop_oldest() {
    const auto oldest = std::find_if(owners_.rbegin(), owners_.rend(),
                                     [](const Owner& owner) { return owner.memory->bytes() > 0; });
    if (oldest == owners_.rend()) return false;
    const auto owner = std::prev(oldest.base());
    owner->memory->release();
    if (owner->memory.use_count() == 1) owners_.erase(owner);
    return true;
  }
  /// Of all owners.
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

  /// Until there is a place for one more owner, as far as sequences hold none.
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
