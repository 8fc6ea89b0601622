#pragma once
#include <functional>
#include <memory>

#include "draft/common/mask_tree.h"

namespace augur {

/// Has a job done on another thread.
using RunElsewhere = std::function<void(std::function<void()>)>;

/// A text's mask that takes more than a round's share of work, in the making on another thread. One thread at
/// a time, but for the job, which has a share of all it needs: when this is destroyed, it ends soon.
class DearMask {
 public:
  /// Begins. Nobody else uses `masks` as long as this lives, but for those that have seen made().
  DearMask(std::shared_ptr<MaskTree> masks, const RunElsewhere& elsewhere);
  ~DearMask();
  DearMask(const DearMask&) = delete;
  DearMask& operator=(const DearMask&) = delete;

  /// Whether the mask is there, or never will be.
  bool ended() const;
  /// Whether it is there. Throws what has been thrown in making it.
  bool made() const;

 private:
  struct Job;
  std::shared_ptr<Job> job_;
};

}  // namespace augur
