#include "cli/version.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "augur/build_info.h"
#include "base/cpu.h"

namespace augur::cli {

std::string version_text() {
  std::vector<std::string_view> variants;
  for (const Isa isa : supported_isas()) variants.push_back(name(isa));
  const BuildInfo& build = build_info();
  return fmt::format("augur {} ({})\nkernels: {} (this machine has: {})\nbuild: {}, {}, {}", build.version,
                     build.commit, name(select_isa()), fmt::join(variants, ", "), build.compiler, build.type,
                     build.flags);
}

}  // namespace augur::cli
