#include "cli/version.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "base/cpu.h"

namespace augur::cli {

std::string version_text() {
  std::vector<std::string_view> variants;
  for (const Isa isa : supported_isas()) variants.push_back(name(isa));
  return fmt::format("augur {}\nkernels: {} (this machine has: {})\nbuild: {}, {}", AUGUR_VERSION,
                     name(select_isa()), fmt::join(variants, ", "), AUGUR_COMPILER, AUGUR_BUILD_TYPE);
}

}  // namespace augur::cli
