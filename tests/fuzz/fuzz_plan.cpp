#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "plan/text.h"

namespace {

augur::SpeculationPlan read(std::string_view text) {
  augur::SpeculationPlan plan;
  augur::apply(augur::split_plan(text), plan);
  return plan;
}

}  // namespace

/// What is read is written so that it is read as the same again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  augur::SpeculationPlan plan;
  try {
    plan = read({reinterpret_cast<const char*>(data), size});
  } catch (const augur::Error&) {
    return 0;
  }
  if (read(to_string(plan)) != plan) std::abort();
  return 0;
}
