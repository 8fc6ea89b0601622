#pragma once
#include "base/error.h"

namespace augur {

/// A request's biases, and its grammar if it has one, forbid every token: nobody but the request is to blame.
class NothingAllowed : public Error {
 public:
  NothingAllowed() : Error("logit_bias: every token that may come next is forbidden") {}
};

}  // namespace augur
