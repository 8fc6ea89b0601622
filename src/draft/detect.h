#pragma once
#include <filesystem>
#include <string_view>

#include "checkpoint/checkpoint.h"

namespace augur {

/// The drafter type of a whole model.
inline constexpr std::string_view kDraftModelType = "draft";

/// The drafter type of a draft model or head ("eagle3", "medusa", ...), recognised from its configuration and
/// the names of its tensors. Files that are not a head count as a whole model, even if they have layers that
/// draft; but if they are the model at `target` itself, the result is the type of these layers
/// (own_drafter_type).
std::string_view detect_drafter_type(const Checkpoint& head, const std::filesystem::path& target = {});

/// The drafter type of layers in a model's own files that only draft: "mtp" (Qwen3-Next, Qwen3.5). Empty:
/// there are no such layers, or no weights.
std::string_view own_drafter_type(const Checkpoint& model);

}  // namespace augur
