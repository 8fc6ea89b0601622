#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace augur {

/// The figures of a document of suite_document() for a terminal: a table for each suite, then, where there
/// are several, the summary. `details`: below every method what is accepted by depth, and how what was
/// forecast compares with what came.
std::string suite_tables(const nlohmann::ordered_json& document, bool details = false);

/// The summary, and speedups by suite, as two Markdown tables with the line that says what was run.
std::string markdown_tables(const nlohmann::ordered_json& document);

}  // namespace augur
