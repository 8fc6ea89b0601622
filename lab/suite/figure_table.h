#pragma once
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

namespace augur {

/// The figures of a document of suite_document() as comma-separated values (RFC 4180): a header, then a line
/// for every suite and method, and for every method over "all suites" where there are several. Intervals are
/// two columns; a field that the document has nothing for is empty.
std::string csv_of_figures(const nlohmann::ordered_json& document);

/// Tokens that a call of the target yields, its own counted, as tables in Markdown: one for every method but
/// plain decoding, with a row for each of `documents` (of suite_document(), told apart by their temperature).
/// "all" is over all calls, "suites" the mean of the suites' own. Error where the documents are of different
/// suites, or a suite has not been measured.
std::string accepted_lengths(std::span<const nlohmann::ordered_json> documents);

}  // namespace augur
