#pragma once
#include <memory>

namespace augur {

class DrafterModel;
struct DrafterSource;

/// Medusa (Cai et al., 2024): `medusa_lm_head.pt`, or a whole model with heads under `medusa_head.`.
std::unique_ptr<DrafterModel> load_medusa_drafter(const DrafterSource& source);

}  // namespace augur
