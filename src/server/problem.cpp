#include "server/problem.h"

#include <new>

#include "base/error.h"

namespace augur {

Problem problem_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Problem& problem) {
    return problem;
  } catch (const std::bad_alloc&) {
    return {503, "the server has no memory left for this request", {}, {{"Retry-After", "1"}}};
  } catch (...) {
    return {500, describe(thrown)};
  }
}

}  // namespace augur
