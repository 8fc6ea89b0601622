#pragma once
#include <filesystem>
#include <string_view>

#include "checkpoint/checkpoint.h"

namespace augur {

/// The type that a whole model drafts as.
inline constexpr std::string_view kDraftModelType = "draft";

/// The drafter type that the files of a draft model or head are for, by what its configuration says and its
/// tensors are called: "eagle3", "medusa", ... What is no head is taken for a whole model, though it has
/// layers that draft (own_drafter_type), unless it is the model at `target` itself.
std::string_view detect_drafter_type(const Checkpoint& head, const std::filesystem::path& target = {});

/// The type that a model's own files are a head of, beside being the model: "mtp" where they have layers that
/// only draft (Qwen3-Next, Qwen3.5). Empty: they are no head, or there are no weights.
std::string_view own_drafter_type(const Checkpoint& model);

}  // namespace augur
