#include "draft/lookup/earlier_outputs.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace augur {

EarlierOutputs::EarlierOutputs(int depth, std::int64_t bytes) : depth_(depth), most_bytes_(bytes) {}

/// Of each of an owner's two tries, so that both fit: tries double their memory.
std::size_t EarlierOutputs::most_nodes() const {
  return std::bit_floor(static_cast<std::size_t>(most_bytes_ / (2 * SuffixTrie::kNodeBytes)));
}

std::shared_ptr<SuffixMemory> EarlierOutputs::of(const std::string& owner) {
  limit(most_bytes_);
  const auto found =
      std::find_if(owners_.begin(), owners_.end(), [&](const Owner& o) { return o.name == owner; });
  if (found != owners_.end()) {
    owners_.splice(owners_.begin(), owners_, found);
  } else {
    for (auto o = owners_.end(); owners_.size() >= kMostOwners && o != owners_.begin();) {
      const auto oldest = std::prev(o);
      if (oldest->memory.use_count() > 1) {
        o = oldest;
      } else {
        owners_.erase(oldest);
      }
    }
    owners_.push_front({owner, std::make_shared<SuffixMemory>(depth_, most_nodes())});
  }
  return owners_.front().memory;
}

std::int64_t EarlierOutputs::bytes() const {
  std::int64_t bytes = 0;
  for (const Owner& owner : owners_) bytes += owner.memory->bytes();
  return bytes;
}

void EarlierOutputs::limit(std::int64_t bytes) {
  if (bytes != most_bytes_) {
    most_bytes_ = bytes;
    for (const Owner& owner : owners_) owner.memory->limit(most_nodes());
  }
  while (this->bytes() > most_bytes_ && drop_oldest()) {
  }
}

bool EarlierOutputs::drop_oldest() {
  const auto oldest = std::find_if(owners_.rbegin(), owners_.rend(),
                                   [](const Owner& owner) { return owner.memory->bytes() > 0; });
  if (oldest == owners_.rend()) return false;
  drop(std::prev(oldest.base()));
  return true;
}

void EarlierOutputs::drop(Owners::iterator owner) {
  owner->memory->release();
  if (owner->memory.use_count() == 1) owners_.erase(owner);
}

void EarlierOutputs::clear() {
  for (const Owner& owner : owners_) owner.memory->clear();
}

}  // namespace augur
