#pragma once
#include <functional>
#include <memory>

#include "draft/common/mask_tree.h"

namespace augur {

/// Runs a job on another thread.
using RunElsewhere = std::function<void(std::function<void()>)>;

/// Computes on another thread a mask that takes more work than a round may spend on it. For one thread at a
/// time, apart from the job, which shares ownership of what it uses and stops soon after this object is
/// destroyed.
class DearMask {
 public:
  /// Starts the job. As long as this object lives, only callers for whom made() has returned true may use
  /// `masks`.
  DearMask(std::shared_ptr<MaskTree> masks, const RunElsewhere& elsewhere);
  ~DearMask();
  DearMask(const DearMask&) = delete;
  DearMask& operator=(const DearMask&) = delete;

  /// Whether the job has ended, with a mask or without.
  bool ended() const;
  /// Whether the mask has been computed. Throws what the job threw.
  bool made() const;

 private:
  struct Job;
  std::shared_ptr<Job> job_;
};

}  // namespace augur
