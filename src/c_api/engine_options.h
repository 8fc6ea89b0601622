#pragma once
#include <atomic>
#include <memory>

#include "augur/augur.h"
#include "augur/options.h"
#include "c_api/model_content.h"

namespace augur::c_api {

/// What augur_load() is to load, and augur_estimate_memory() would. `options.cancel` points to what `cancel`
/// holds.
struct Loading {
  EngineOptions options;
  std::shared_ptr<std::atomic<bool>> cancel;
  std::shared_ptr<ContentRelease>
      release;  ///< of `options.model_content`, once an engine is made; may be null
};
/// Error of kind Misuse for NULL.
Loading loading_of(const augur_engine_options* given);

}  // namespace augur::c_api
