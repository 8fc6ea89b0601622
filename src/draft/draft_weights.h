#pragma once
#include "augur/enums.h"
#include "checkpoint/checkpoint.h"
#include "model/model.h"

namespace augur {

/// The form in which the weights of a draft model or head are packed. The text does not depend on it, so it
/// is chosen for speed.
///
/// Auto: as stored, but float matrices become Q4_1 if this machine multiplies faster with the largest of them
/// in Q4_1 (measured in this call, within milliseconds). Native: as stored, floats in the target's float
/// type. The others: every matrix whose rows are whole blocks gets that type; matrices stored in another type
/// are expanded first.
WeightForm draft_weight_form(DraftWeightFormat asked, const Checkpoint& head, const Model& target);
/// The same, with the target's float type, for what nothing is to be measured for: Auto is taken for Native.
WeightForm unmeasured_form(DraftWeightFormat asked, DType floats);

}  // namespace augur
