#include "lab/suite/report.h"

#include <nlohmann/json.hpp>
#include <string_view>

namespace augur {
namespace {

// Written beside this file in report/, embedded by the build.
constexpr std::string_view kPage =
#include "page.inc"
    ;
constexpr std::string_view kStyle =
#include "style.inc"
    ;
constexpr std::string_view kScript =
#include "script.inc"
    ;

/// JSON that may stand inside a script element: without '<', nothing in it can end the element. The page
/// shows no single cells.
std::string embedded_json(nlohmann::ordered_json document) {
  for (nlohmann::ordered_json& suite : document["suites"]) suite.erase("cells");
  const std::string text = document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      out += "\\u003c";  // '<' occurs in JSON's strings only
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string report_page(const nlohmann::ordered_json& document) {
  std::string page;
  std::string_view rest = kPage;
  const auto put = [&](std::string_view mark, std::string_view text) {
    const std::size_t at = rest.find(mark);
    page += rest.substr(0, at);
    page += text;
    rest.remove_prefix(at + mark.size());
  };
  put("/*STYLE*/", kStyle);
  put("/*DATA*/", embedded_json(document));
  put("/*SCRIPT*/", kScript);
  page += rest;
  return page;
}

}  // namespace augur
