#pragma once
#include <memory>

#include "draft/registry.h"

namespace augur {

/// EAGLE-3 heads and their kin: the official layout and that of speculators and vLLM, EAGLE-3.1, P-EAGLE.
std::unique_ptr<DrafterModel> load_eagle3_drafter(const DrafterSource& source);

}  // namespace augur
