#pragma once
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "lab/suite/method.h"
#include "lab/suite/prompt_set.h"
#include "lab/suite/state_file.h"

namespace augur {

/// Every cell of a suite that the state holds, named by prompt and method: an array of flat objects with the
/// same fields, by prompt, seed, round and method (`keys`: theirs). Times are in ms.
nlohmann::ordered_json cell_rows(const PromptSet& set, const std::vector<Method>& methods,
                                 std::span<const std::string> keys, int rounds, int seeds,
                                 const StateFile& state);

/// Such rows of all suites as comma-separated values (RFC 4180): a header with the fields' names and "suite"
/// before them, then a line a row. `document`: of suite_document().
std::string csv_of_cells(const nlohmann::ordered_json& document);

}  // namespace augur
