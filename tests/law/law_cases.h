#pragma once
// All cases: those in which the laws differ, and those that they share.
#include "attention_cases.h"
#include "product_cases.h"
#include "row_cases.h"

namespace augur::law {

inline std::vector<Case> cases_of(ArithmeticLaw law) {
  std::vector<Case> cases = bf16_products();
  if (law == ArithmeticLaw::Blocks) return cases;
  for (std::vector<Case> more : {other_products(), attention_cases(), row_cases()})
    std::move(more.begin(), more.end(), std::back_inserter(cases));
  return cases;
}

}  // namespace augur::law
