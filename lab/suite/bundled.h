#pragma once
#include "lab/suite/prompt_set.h"

namespace augur {

/// The small suite that is part of the program (prompts/quick.jsonl): two prompts, one of them in two turns,
/// of each of six kinds of work. Written for this project.
PromptSet bundled_prompts();

}  // namespace augur
