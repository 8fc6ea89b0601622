#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "files/gguf/architectures.h"
#include "files/weight_store.h"
#include "model/config.h"
#include "model/gguf_layout.h"

namespace augur {

/// Where the heads of `value_heads` go that GGUF files of `architecture` have in another order than `delta`:
/// of `width` numbers each, behind `first` others that stay. Number i of the file is the model's at [i];
/// empty: the order is the same.
std::vector<std::int64_t> gguf_value_order(const GgufArchitecture& architecture, const RecurrentSpec& delta,
                                           std::int64_t first, std::int64_t width);

/// Appends what GGUF makes of a recurrence's tensor of a folder: `items` without their types. False: it
/// is none. Error naming the tensor for a shape that is not the configuration's.
bool lay_out_recurrent(const ModelConfig& config, const GgufArchitecture& architecture,
                       const WeightStore& store, const StoredTensor& tensor, std::vector<GgufItem>& items);

/// Layers behind the model's that only draft, of which a folder has tensors ("mtp.layers.0.…").
std::int64_t drafting_layers(const WeightStore& store);

}  // namespace augur
