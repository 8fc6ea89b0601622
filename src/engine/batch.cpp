#include "engine/batch.h"

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

Result failed(const std::exception_ptr& why, Result so_far) noexcept {
  Result result = std::move(so_far);
  result.finish_reason = FinishReason::Error;
  result.error_kind = ErrorKind::OutOfMemory;
  try {
    ErrorCause cause = cause_of(why);
    result.error = describe(why);
    result.error_kind = cause.kind;
    result.refused =
        blames_caller(cause.kind) && (cause.kind == ErrorKind::RefusedField || !cause.field.empty());
    result.refused_field = std::move(cause.field);
  } catch (...) {
    result.error = "out of memory";  // so short that it takes none
  }
  return result;
}

std::vector<std::int64_t> Batch::numbers(const std::vector<Running>& list) {
  std::vector<std::int64_t> numbers;
  for (const Running& r : list) numbers.push_back(r.number);
  return numbers;
}

/// list.size(): it is not there.
std::size_t Batch::index_of(const std::vector<Running>& list, std::int64_t number) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const Running& r) { return r.number == number; });
  return static_cast<std::size_t>(found - list.begin());
}

const Sequence& Batch::sequence(std::int64_t number) const {
  const std::size_t i = index_of(running_, number);
  return (i < running_.size() ? running_[i] : waiting_[index_of(waiting_, number)]).generation->sequence();
}

void Batch::add(std::unique_ptr<Generation> generation, Done done, std::int64_t number) {
  waiting_.push_back({std::move(generation), std::move(done), number});
}

void Batch::begin(std::int64_t number) {
  move(number, waiting_, running_);
}

void Batch::suspend(std::int64_t number) {
  move(number, running_, waiting_);
  decoder_.suspend(waiting_.back().generation->sequence());
}

void Batch::move(std::int64_t number, std::vector<Running>& from, std::vector<Running>& to) {
  make_room_for_one(to);
  const auto place = from.begin() + static_cast<std::ptrdiff_t>(index_of(from, number));
  to.push_back(std::move(*place));
  from.erase(place);
}

std::unique_ptr<Generation> Batch::take_out(std::int64_t number) {
  std::vector<Running>& list = index_of(running_, number) < running_.size() ? running_ : waiting_;
  const auto place = list.begin() + static_cast<std::ptrdiff_t>(index_of(list, number));
  std::unique_ptr<Generation> generation = std::move(place->generation);
  list.erase(place);
  decoder_.retire(generation->sequence());
  decoder_.suspend(generation->sequence());
  return generation;
}

bool Batch::stop_drafting() {
  if (running_.size() != 1 || !running_.front().generation->sequence().drafts()) return false;
  running_.front().generation->sequence().stop_drafting();
  return true;
}

bool Batch::sits_out() const {
  return !running_.empty() && std::all_of(running_.begin(), running_.end(), [](const Running& r) {
    return r.generation->sequence().waits_for_mask();
  });
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
    result = failed(std::current_exception(), ended.generation->so_far());
  }
  ended.generation.reset();  // its callbacks hold on to what the caller may drop once it has the result
  ended.done(std::move(result));
}

void Batch::fail(const std::exception_ptr& why) {
  for (Running& r : std::exchange(running_.empty() ? waiting_ : running_, {})) {
    Result result = failed(why, r.generation->so_far());
    r.generation.reset();
    r.done(std::move(result));
  }
}

}  // namespace augur
