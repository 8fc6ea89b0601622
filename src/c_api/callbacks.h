#pragma once
#include <cstdint>
#include <functional>

#include "augur/augur.h"
#include "augur/engine.h"

// Callbacks of a request's, with what they get in the structs of C. Empty where the caller's is NULL.
namespace augur::c_api {

TokenCallback event_callback(augur_event_callback callback, void* user);
std::function<void(std::int64_t done, std::int64_t total)> prefill_callback(augur_prefill_callback callback,
                                                                            void* user);
RoundCallback round_callback(augur_round_callback callback, void* user);
LogitsProcessor logits_processor(augur_logits_processor callback, void* user);

}  // namespace augur::c_api
