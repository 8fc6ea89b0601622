#include "api/batch.h"

#include <utility>

#include "base/error.h"

namespace augur {

Result failed(const std::exception_ptr& why) {
  Result result;
  result.finish_reason = FinishReason::Error;
  result.error = describe(why);
  return result;
}

void Batch::add(std::unique_ptr<Generation> generation, Done done) {
  running_.push_back({std::move(generation), std::move(done)});
}

void Batch::step() {
  sequences_.clear();
  for (Running& r : running_) {
    r.generation->poll_cancel();
    sequences_.push_back(&r.generation->sequence());
  }
  decoder_.step(sequences_);
  for (std::size_t i = 0; i < running_.size();) {
    if (!running_[i].generation->sequence().finished()) {
      ++i;
      continue;
    }
    decoder_.retire(running_[i].generation->sequence());
    const Running ended = std::exchange(running_[i], {});  // gone, whatever its caller throws
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    Result result;
    try {
      result = ended.generation->finish();
    } catch (...) {
      result = failed(std::current_exception());
    }
    ended.done(std::move(result));
  }
}

void Batch::fail(const std::exception_ptr& why) {
  for (const Running& r : std::exchange(running_, {})) r.done(failed(why));
}

}  // namespace augur
