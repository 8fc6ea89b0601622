#pragma once
#include "augur/augur.h"
#include "augur/engine.h"
#include "augur/options.h"

namespace augur::c_api {

Request request_of(const augur_request& from);
/// Empty where `on_token` is NULL.
TokenCallback token_callback(augur_token_callback on_token, void* user);

}  // namespace augur::c_api
