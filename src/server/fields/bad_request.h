#pragma once
#include <stdexcept>
#include <string>
#include <utility>

namespace augur {

/// A request that is not as it must be, or that asks for what there is not.
class BadRequest : public std::runtime_error {
 public:
  BadRequest(std::string field, const std::string& problem)
      : std::runtime_error(field.empty() ? problem : "'" + field + "': " + problem),
        field_(std::move(field)) {}
  const std::string& field() const { return field_; }

 private:
  std::string field_;
};

}  // namespace augur
