#include "vocab/head_row.h"

#include "model/model.h"

namespace augur {

HeadWeights head_of(const Model& model) {
  return {.backend = &model.backend(),
          .matrix = &model.lm_head(),
          .embedding = &model.embedding(),
          .norm = model.final_norm_weight(),
          .eps = model.config().norm_eps,
          .form = model.logit_form(),
          .usable = model.config().vocab};
}

PackedMatrix gather_rows(Backend& backend, const PackedMatrix& from, std::span<const std::int32_t> entries) {
  PackedMatrix to(from.type(), std::ssize(entries), from.k());
  if (from.fine()) to.take_fine_rows();
  backend.pool.run([&](Team& team) {
    const Range mine = team.split(std::ssize(entries), PackedMatrix::kPanel);
    for (std::int64_t i = mine.begin; i < mine.end; ++i) {
      to.copy_row(i, from, entries[static_cast<std::size_t>(i)]);
    }
  });
  return to;
}

}  // namespace augur
