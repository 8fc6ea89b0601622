#include "draft/registry.h"

#include "base/error.h"
#include "draft/eagle3_head.h"
#include "draft/eagle_head.h"
#include "draft/hydra_heads.h"
#include "draft/layerskip_drafter.h"
#include "draft/medusa_heads.h"
#include "draft/model_drafter.h"
#include "draft/mtp_head.h"
#include "draft/ngram_drafter.h"
#include "draft/suffix_drafter.h"

namespace augur {

std::span<const DrafterType> drafter_types() {
  static constexpr DrafterType kTypes[] = {
      {"ngram", "ngram-simple", false, load_ngram_drafter},
      {"draft", "draft-simple", true, load_model_drafter},
      {"eagle", "", true, load_eagle_drafter},
      {"eagle3", "draft-eagle3", true, load_eagle3_drafter},
      {"mtp", "draft-mtp", true, load_mtp_drafter},
      {"medusa", "", true, load_medusa_drafter},
      {"hydra", "", true, load_hydra_drafter},
      {"layerskip", "", false, load_layerskip_drafter},
      {"suffix", "", false, load_suffix_drafter},
  };
  return kTypes;
}

const DrafterType& find_drafter_type(std::string_view name) {
  std::string known;
  for (const DrafterType& type : drafter_types()) {
    if (name == type.name || (!type.alias.empty() && name == type.alias)) return type;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", type.name);
  }
  throw Error("unknown speculation type '{}'; known: none, {}", name, known);
}

}  // namespace augur
