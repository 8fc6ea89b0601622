#pragma once
#include <string_view>

#include "checkpoint/checkpoint.h"

namespace augur {

/// The type that a whole model drafts as.
inline constexpr std::string_view kDraftModelType = "draft";

/// The drafter type that the files of a draft model or head are for, by what its configuration says and its
/// tensors are called: "eagle3", "medusa", ... What is no head is taken for a whole model.
std::string_view detect_drafter_type(const Checkpoint& head);

}  // namespace augur
