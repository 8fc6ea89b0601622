#pragma once
#include <functional>
#include <span>

#include "base/types.h"
#include "files/importance_matrix.h"
#include "model/model.h"

namespace augur {

/// What the columns of the layers' matrices matter for a text: runs the model over it in pieces of 512 tokens
/// and takes the mean squares of what each matrix is multiplied with, as llama-imatrix does; not of the
/// embedding, the head and routers. `source`: what messages call the text. Error for a model with quantised
/// weights (they read rounded rows) and an empty text.
ImportanceMatrix calibrate(Model& model, std::span<const TokenId> text, std::string source,
                           const std::function<void(double)>& progress = {});

}  // namespace augur
