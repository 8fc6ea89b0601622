#include "augur/augur.h"
#include "augur/build_info.h"

const char* augur_version(void) {
  return augur::build_info().version.data();
}

const char* augur_commit(void) {
  return augur::build_info().commit.data();
}
