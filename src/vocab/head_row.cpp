#include "vocab/head_row.h"

#include <fmt/format.h>

#include <string>

#include "base/shared_parts.h"
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

PackedMatrix gather_shared_rows(Device& device, const PackedMatrix& from,
                                std::span<const std::int32_t> entries) {
  std::string key = fmt::format("rows of {} {} {} {}", static_cast<const void*>(from.panel(0)), from.n(),
                                from.k(), name(from.type()));
  key.append(reinterpret_cast<const char*>(entries.data()), entries.size_bytes());
  const auto gather = [&](const SharedParts::Progress&) {
    return SharedParts::Parts{gather_rows(device, from, entries).data()};
  };
  const SharedParts::Parts rows = SharedParts::of_process().get(key, gather, {});
  PackedMatrix to(from.type(), std::ssize(entries), from.k());
  if (from.fine()) to.take_fine_rows();
  return to.at(std::static_pointer_cast<std::byte>(rows.front()));
}

}  // namespace augur
