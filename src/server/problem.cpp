#include "server/problem.h"

#include "base/error.h"
#include "base/out_of_memory.h"

namespace augur {

Problem problem_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Problem& problem) {
    return problem;
  } catch (...) {
    if (is_want_of_memory(thrown)) {
      return {503, "the server has no memory left for this request", {}, {{"Retry-After", "1"}}};
    }
    return {500, describe(thrown)};
  }
}

}  // namespace augur
