#pragma once
#include <memory>

namespace augur {

class DrafterModel;
struct DrafterSource;

/// Hydra and Hydra++ (Ankner et al., 2024): `hydra_lm_head.pt`.
std::unique_ptr<DrafterModel> load_hydra_drafter(const DrafterSource& source);

}  // namespace augur
