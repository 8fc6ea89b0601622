#include "api/batch.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace augur {
namespace {

/// For whoever is to move from one list to another and must not be lost on the way.
template <class T>
void make_room_for_one(std::vector<T>& list) {
  if (list.size() == list.capacity()) list.reserve(std::max<std::size_t>(16, 2 * list.size()));
}

}  // namespace

Result failed(const std::exception_ptr& why) noexcept {
  Result result;
  result.finish_reason = FinishReason::Error;
  try {
    result.error = describe(why);
  } catch (...) {
    result.error = "out of memory";  // so short that it takes none
  }
  return result;
}

void Batch::add(std::unique_ptr<Generation> generation, Done done, std::int64_t order) {
  wait({std::move(generation), std::move(done), order});
}

Sequence& Batch::wait(Running running) {
  const auto before = [](std::int64_t order, const Running& r) { return order >= r.order; };
  const auto place = std::upper_bound(waiting_.begin(), waiting_.end(), running.order, before);
  return waiting_.insert(place, std::move(running))->generation->sequence();
}

const Sequence* Batch::next() const {
  return waiting_.empty() ? nullptr : &waiting_.back().generation->sequence();
}

void Batch::begin_next() {
  running_.push_back(std::move(waiting_.back()));
  waiting_.pop_back();
}

bool Batch::suspend_one() {
  if (running_.size() < 2) return false;
  make_room_for_one(waiting_);
  const auto last = std::max_element(running_.begin(), running_.end(),
                                     [](const Running& a, const Running& b) { return a.order < b.order; });
  Sequence& sequence = wait(std::move(*last));
  running_.erase(last);
  decoder_.suspend(sequence);
  return true;
}

bool Batch::stop_drafting() {
  if (running_.size() != 1 || !running_.front().generation->sequence().drafts()) return false;
  running_.front().generation->sequence().stop_drafting();
  return true;
}

std::vector<const Sequence*> Batch::running() const {
  std::vector<const Sequence*> all;
  for (const Running& r : running_) all.push_back(&r.generation->sequence());
  return all;
}

void Batch::step() {
  sequences_.clear();
  for (Running& r : waiting_) r.generation->poll_cancel();
  for (Running& r : running_) {
    r.generation->poll_cancel();
    sequences_.push_back(&r.generation->sequence());
  }
  decoder_.step(sequences_);
  for (std::vector<Running>* some : {&running_, &waiting_}) {
    for (std::size_t i = 0; i < some->size();) {
      if (!(*some)[i].generation->sequence().finished()) {
        ++i;
        continue;
      }
      Running ended = std::exchange((*some)[i], {});  // gone, whatever its caller throws
      some->erase(some->begin() + static_cast<std::ptrdiff_t>(i));
      end(std::move(ended));
    }
  }
}

void Batch::end(Running ended) {
  decoder_.retire(ended.generation->sequence());
  Result result;
  try {
    result = ended.generation->finish();
  } catch (...) {
    result = failed(std::current_exception());
  }
  ended.generation.reset();  // its callbacks hold on to what the caller may drop once it has the result
  ended.done(std::move(result));
}

void Batch::fail(const std::exception_ptr& why) {
  for (std::vector<Running>* some : {&running_, &waiting_}) {
    for (Running& r : std::exchange(*some, {})) {
      r.generation.reset();
      r.done(failed(why));
    }
  }
}

}  // namespace augur
