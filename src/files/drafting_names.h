#pragma once
#include "files/weight_store.h"

namespace augur {

/// Layers that only draft are "mtp." in most files of Qwen3-Next and Qwen3.5; some have them within the
/// model, as "model.mtp.". Gives these the usual names. Error where a tensor is there under both.
void name_drafting_layers(WeightStore& store);

}  // namespace augur
