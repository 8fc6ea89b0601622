#include "text/jinja/escape.h"

namespace augur::jinja {
namespace {

std::string_view escape_of(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&#34;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

}  // namespace

void add_escaped(const Text& text, TextBuilder& to) {
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view escape = escape_of(text.bytes()[i]);
    if (escape.empty()) continue;
    to.add(text.part(done, i - done));
    to.add(escape, text.part(i, 1).any_client());
    done = i + 1;
  }
  to.add(text.part(done));
}

}  // namespace augur::jinja
