#pragma once
#include <atomic>
#include <memory>

#include "augur/augur.h"
#include "augur/options.h"

namespace augur::c_api {

/// Tells the caller that nobody uses the bytes of a model any more, if an engine was made of them.
class ContentRelease {
 public:
  ContentRelease(void (*release)(void* user), void* user) : release_(release), user_(user) {}
  ~ContentRelease() {
    if (due_.load()) release_(user_);
  }
  ContentRelease(const ContentRelease&) = delete;
  ContentRelease& operator=(const ContentRelease&) = delete;
  /// The call has succeeded: from now on the bytes are the engine's.
  void due() { due_.store(true); }

 private:
  void (*const release_)(void* user);
  void* const user_;
  std::atomic<bool> due_ = false;
};

struct GivenContent {
  ModelContent content;
  std::shared_ptr<ContentRelease> release;  ///< what `content.keeper` is; null: the caller's bytes stay
};
GivenContent content_of(const augur_model_content* given);

}  // namespace augur::c_api
