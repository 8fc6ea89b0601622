#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace augur {

/// One HTML file that shows a document of suite_document(): no network, no other files, light and dark. The
/// document travels in it as JSON; a script in the page draws. Own code: a library of charts would travel in
/// every page.
std::string report_page(const nlohmann::ordered_json& document);

}  // namespace augur
