#pragma once
#include <atomic>
#include <memory>

#include "augur/augur.h"
#include "augur/engine.h"
#include "augur/options.h"

namespace augur::c_api {

/// A request of the C interface. `request.cancel` points to what `cancel` holds.
struct Asked {
  Request request;
  std::shared_ptr<std::atomic<bool>> cancel;
  TokenCallback on_event;  ///< empty: the request has none
};
/// Error of kind Misuse for NULL.
Asked asked_by(const augur_request* given);

/// Calls both, `on_token` first; goes on while each that there is wants to. Empty where there is neither.
TokenCallback token_callback(augur_token_callback on_token, void* user, TokenCallback on_event);

}  // namespace augur::c_api
