#include "augur/build_info.h"

#include "commit.h"  // made by cmake/Commit.cmake as the build begins

namespace augur {
namespace {

/// Always as long: programs of two commits that have the same code differ in these bytes alone.
constexpr char kCommit[32] = AUGUR_COMMIT;

}  // namespace

}  // namespace augur

const augur::BuildInfo& augur::build_info() {
  static constexpr BuildInfo kInfo = {.version = AUGUR_VERSION_TEXT,
                                      .commit = kCommit,
                                      .compiler = AUGUR_COMPILER,
                                      .type = AUGUR_BUILD_TYPE,
                                      .flags = AUGUR_FLAGS};
  return kInfo;
}
