#include "server/llamacpp/slots.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace augur {

int Slots::occupy(std::int64_t prompt_tokens, TextOwner owner, int wanted, int places) {
  const std::lock_guard lock(mutex_);
  const bool chosen = wanted >= 0 && wanted < places;
  if (chosen && std::ssize(work_) <= wanted) work_.resize(static_cast<std::size_t>(wanted) + 1);
  auto place = chosen ? work_.begin() + wanted : work_.end();
  if (!chosen || *place) place = std::find(work_.begin(), work_.end(), std::nullopt);
  if (place == work_.end()) place = work_.emplace(place);
  *place = Work{.task = tasks_++, .prompt_tokens = prompt_tokens, .owner = std::move(owner)};
  return static_cast<int>(place - work_.begin());
}

void Slots::decoded(int slot) {
  const std::lock_guard lock(mutex_);
  ++work_[static_cast<std::size_t>(slot)]->decoded;
}

void Slots::free(int slot, std::vector<TokenId> text) {
  const std::lock_guard lock(mutex_);
  const auto place = static_cast<std::size_t>(slot);
  if (texts_.size() <= place) texts_.resize(place + 1);
  texts_[place] = Text{.tokens = std::move(text), .owner = std::move(work_[place]->owner)};
  work_[place].reset();
}

std::optional<std::vector<TokenId>> Slots::text(int slot) const {
  const std::lock_guard lock(mutex_);
  const auto place = static_cast<std::size_t>(slot);
  if (place >= texts_.size() || work_[place] || !texts_[place] || texts_[place]->tokens.empty()) {
    return std::nullopt;
  }
  return texts_[place]->tokens;
}

std::optional<TextOwner> Slots::owner(int slot) const {
  const std::lock_guard lock(mutex_);
  const auto place = static_cast<std::size_t>(slot);
  if (place < work_.size() && work_[place]) return work_[place]->owner;
  if (place < texts_.size() && texts_[place]) return texts_[place]->owner;
  return std::nullopt;
}

std::vector<std::optional<Slots::Work>> Slots::list() const {
  const std::lock_guard lock(mutex_);
  return work_;
}

}  // namespace augur
