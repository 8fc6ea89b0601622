#pragma once
#include <cstdint>

#include "base/dtype.h"
#include "model/config.h"
#include "model/model.h"

namespace augur {

// What ModelOptions come to for a model.

/// The longest sequence. Error beyond the model's limit.
std::int64_t choose_context(const ModelConfig& config, std::int64_t asked);
/// What matrices are packed to.
WeightForm choose_form(const ModelOptions& options);
/// The type of caches. Error for one that the model's cannot have.
DType choose_kv_type(const ModelConfig& config, const ModelOptions& options);

}  // namespace augur
