#pragma once
#include <span>
#include <string>
#include <vector>

#include "lab/suite/method.h"
#include "lab/suite/prompt_set.h"

namespace augur {

// What cells are filed under (CellKey): hashes of what they stand for.

/// Of methods, in their order: of a method's text, and of what its files hold (draft model, draft vocabulary,
/// the policy's part, a fixed tree). `default_draft_model`: of methods that name none. Files are read.
std::vector<std::string> method_keys(std::span<const Method> methods, const std::string& default_draft_model);
std::string method_key(const Method& method, const std::string& default_draft_model);
/// Of the suite's name, and the prompt's name and turns.
std::string prompt_key(const std::string& suite, const SuitePrompt& prompt);

}  // namespace augur
