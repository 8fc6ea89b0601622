#pragma once
#include "augur/augur.h"
#include "augur/options.h"

namespace augur::c_api {

EngineOptions engine_options(const augur_engine_options& from);

}  // namespace augur::c_api
