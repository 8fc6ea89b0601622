#pragma once
#include <memory>

#include "draft/registry.h"

namespace augur {

/// EAGLE-1 and EAGLE-2 heads, as published (pytorch_model.bin or model.safetensors).
std::unique_ptr<DrafterModel> load_eagle_drafter(const DrafterSource& source);

}  // namespace augur
