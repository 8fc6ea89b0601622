#pragma once
#include "base/error.h"

namespace augur {

/// A request's biases and its grammar together forbid every token; the cause is the request alone.
class NothingAllowed : public Error {
 public:
  NothingAllowed()
      : Error(refused("logit_bias"), "logit_bias: every token that may come next is forbidden") {}
};

}  // namespace augur
