#pragma once
#include "augur/enums.h"
#include "checkpoint/checkpoint.h"
#include "model/model.h"

namespace augur {

/// How the weights of a draft model or head are packed. Drafts need not be exact, only good for their time;
/// the text does not depend on them.
///
/// Auto: as they are stored, but matrices of floats become Q4_1 when this machine multiplies rows with the
/// largest of them faster so (measured here and now, in milliseconds). Native: as they are stored, floats in
/// the target's float type. The others: every matrix whose rows are whole blocks in that type, what is stored
/// in another expanded.
WeightForm draft_weight_form(DraftWeightFormat asked, const Checkpoint& head, const Model& target);

}  // namespace augur
