#include "vocab/head_row.h"

#include "model/model.h"

namespace augur {

HeadWeights head_of(const Model& model) {
  return {.device = &model.device(),
          .matrix = &model.lm_head(),
          .embedding = &model.embedding(),
          .norm = model.final_norm_weight(),
          .eps = model.config().norm_eps,
          .form = model.logit_form(),
          .usable = model.config().vocab};
}

PackedMatrix gather_rows(Device& device, const PackedMatrix& from, std::span<const std::int32_t> entries) {
  PackedMatrix to(from.type(), std::ssize(entries), from.k());
  if (from.fine()) to.take_fine_rows();
  device.take(to);
  device.copy_rows(to, 0, from, entries);
  return to;
}

}  // namespace augur
