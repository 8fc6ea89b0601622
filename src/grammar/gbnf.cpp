#include "grammar/gbnf.h"

namespace augur {
namespace {

/// What begins with a backslash, two characters of it or, for \x, all four.
std::string_view escaped(std::string_view text) {
  return text.substr(0, text.size() > 1 && text[1] == 'x' ? 4 : 2);
}

}  // namespace

std::string ebnf_of_gbnf(std::string_view gbnf) {
  std::string out;
  char within = 0;  // the character that ends a literal, a class or a comment
  for (std::size_t at = 0; at < gbnf.size(); ++at) {
    const char c = gbnf[at];
    if (within != 0) {
      if (c == '\\' && within != '\n') {
        const std::string_view escape = escaped(gbnf.substr(at));
        out += escape.size() == 4 ? "\\u00" + std::string(escape.substr(2)) : std::string(escape);
        at += escape.size() - 1;
        continue;
      }
      if (c == within) within = 0;
    } else if (c == '.') {
      out += "[\\u0000-\\U0010FFFF]";
      continue;
    } else if (c == '"') {
      within = c;
    } else if (c == '[') {
      within = ']';
    } else if (c == '#') {
      within = '\n';
    }
    out += c;
  }
  return out;
}

}  // namespace augur
