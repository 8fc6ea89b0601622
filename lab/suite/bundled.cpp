#include "lab/suite/bundled.h"

#include <sstream>

namespace augur {
namespace {

constexpr const char* kQuick =
#include "quick.inc"
    ;

}  // namespace

PromptSet bundled_prompts() {
  std::istringstream in(kQuick);
  return read_prompt_set(in, "quick.jsonl");
}

}  // namespace augur
