#include "draft/registry.h"

#include "base/error.h"

namespace augur {

// The loaders of the list, declared, then the list itself.
#define AUGUR_DRAFTER(load, ...) std::unique_ptr<DrafterModel> load(const DrafterSource&);
#include "draft/drafter_types.inc"
#undef AUGUR_DRAFTER

std::span<const DrafterType> drafter_types() {
#define AUGUR_DRAFTER(loader, ...) {.load = loader, __VA_ARGS__},
  static constexpr DrafterType kTypes[] = {
#include "draft/drafter_types.inc"
  };
#undef AUGUR_DRAFTER
  return kTypes;
}

const DrafterType& find_drafter_type(std::string_view name) {
  std::string known;
  for (const DrafterType& type : drafter_types()) {
    if (name == type.name || (!type.alias.empty() && name == type.alias)) return type;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", type.name);
  }
  throw Error(refused("speculative"), "unknown speculation type '{}'; known: none, {}", name, known);
}

}  // namespace augur
