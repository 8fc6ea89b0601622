#include "vocab/head_row.h"

#include "model/model.h"

namespace augur {

HeadWeights head_of(const Model& model) {
  return {.backend = &model.backend(),
          .matrix = &model.lm_head(),
          .embedding = &model.embedding(),
          .norm = model.final_norm_weight(),
          .eps = model.config().norm_eps,
          .usable = model.config().vocab};
}

}  // namespace augur
