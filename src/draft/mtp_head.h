#pragma once
#include <memory>

#include "draft/registry.h"

namespace augur {

/// Multi-token prediction layers in the layouts of DeepSeek-V3, MiMo and FastMTP.
std::unique_ptr<DrafterModel> load_mtp_drafter(const DrafterSource& source);

}  // namespace augur
