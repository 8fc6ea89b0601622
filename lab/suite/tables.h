#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace augur {

/// The figures of a document of suite_document() for a terminal: a table for each suite, then the summary.
std::string suite_tables(const nlohmann::ordered_json& document);

/// The summary, and speedups by suite, as two Markdown tables with the line that says what was run.
std::string markdown_tables(const nlohmann::ordered_json& document);

}  // namespace augur
