#pragma once
#include <string>
#include <utility>

#include "server/problem.h"

namespace augur {

/// A request that is not as it must be, or that asks for what there is not: a 400 that names the field.
class BadRequest : public Problem {
 public:
  BadRequest(std::string field, const std::string& problem)
      : Problem(400, field.empty() ? problem : "'" + field + "': " + problem, field) {}
};

}  // namespace augur
