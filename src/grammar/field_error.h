#pragma once
#include <string>
#include <utility>

#include "base/error.h"

namespace augur {

/// Something is wrong with a part of a grammar that came in a field of its own.
class FieldError : public Error {
 public:
  FieldError(std::string field, const Error& error) : Error(error), field_(std::move(field)) {}
  const std::string& field() const { return field_; }

 private:
  std::string field_;
};

}  // namespace augur
