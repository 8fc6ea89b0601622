#include "decode/dear_mask.h"

#include <atomic>
#include <exception>
#include <utility>

namespace augur {

struct DearMask::Job {
  std::shared_ptr<MaskTree> masks;
  std::atomic<bool> unwanted = false;
  std::atomic<bool> ended = false;
  std::exception_ptr problem = nullptr;  ///< from when it has ended

  void run() {
    try {
      masks->make_root_mask([this] { return unwanted.load(); });
    } catch (...) {
      problem = std::current_exception();
    }
    ended = true;
  }
};

DearMask::DearMask(std::shared_ptr<MaskTree> masks, const RunElsewhere& elsewhere)
    : job_(std::make_shared<Job>()) {
  job_->masks = std::move(masks);
  elsewhere([job = job_] { job->run(); });
}

DearMask::~DearMask() {
  job_->unwanted = true;
}

bool DearMask::ended() const {
  return job_->ended;
}

bool DearMask::made() const {
  if (!job_->ended) return false;
  if (job_->problem) std::rethrow_exception(job_->problem);
  return true;
}

}  // namespace augur
