#pragma once
#include <atomic>
#include <memory>

#include "augur/augur.h"
#include "augur/options.h"

namespace augur::c_api {

/// What augur_load() is to load. `options.cancel` points to what `cancel` holds.
struct Loading {
  EngineOptions options;
  std::shared_ptr<std::atomic<bool>> cancel;
};
/// Error of kind Misuse for NULL.
Loading loading_of(const augur_engine_options* given);

}  // namespace augur::c_api
