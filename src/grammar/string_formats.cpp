#include "grammar/string_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace augur {
namespace {

constexpr const char* kYear = "(000[1-9]|00[1-9][0-9]|0[1-9][0-9][0-9]|[1-9][0-9]{3})";
constexpr const char* kFourth = "(0[48]|[2468][048]|[13579][26])";  ///< of a hundred years, but the first

std::string date() {
  const std::string day = fmt::format(
      "{}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-"
      "8]))",
      kYear);
  return fmt::format("({}|([0-9]{{2}}{}|{}00)-02-29)", day, kFourth, kFourth);
}

std::string time() {
  const std::string hour = "([01][0-9]|2[0-3])";
  return fmt::format("{}:[0-5][0-9]:[0-5][0-9](\\.[0-9]{{1,9}})?(Z|[+\\-]{}:[0-5][0-9])", hour, hour);
}

std::string duration() {
  const std::string of_day = "T([0-9]+S|[0-9]+M([0-9]+S)?|[0-9]+H([0-9]+M([0-9]+S)?)?)";
  const std::string of_year = "([0-9]+D|[0-9]+M([0-9]+D)?|[0-9]+Y([0-9]+M([0-9]+D)?)?)";
  return fmt::format("P({}({})?|{}|[0-9]+W)", of_year, of_day, of_day);
}

/// At most 63 characters; two hyphens in a row mean something else.
constexpr const char* kLabel = "[A-Za-z0-9]{1,15}(-[A-Za-z0-9]{1,15}){0,3}";

std::string hostname() {
  return fmt::format("{0}(\\.{0}){{0,2}}", kLabel);
}

std::string email() {
  const std::string word = "[A-Za-z0-9_+\\-]{1,15}";
  return fmt::format("{0}(\\.{0}){{0,3}}@{1}", word, hostname());
}

std::string ipv4() {
  const std::string byte = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
  return fmt::format("({0}\\.){{3}}{0}", byte);
}

std::string ipv6() {
  const std::string group = "[0-9A-Fa-f]{1,4}";
  std::string text = fmt::format("(({0}:){{7}}{0}|::|:(:{0}){{1,7}}|({0}:){{1,7}}:", group);
  for (int before = 1; before <= 6; ++before) {
    text += fmt::format("|({0}:){{{1}}}(:{0}){{1,{2}}}", group, before, 7 - before);
  }
  return text + ")";
}

std::string uuid() {
  const std::string four = "[0-9A-Fa-f]{4}";
  return fmt::format("{0}{0}-{0}-{0}-{0}-{0}{0}{0}", four);
}

constexpr const char* kEncoded = "%[0-9A-Fa-f][0-9A-Fa-f]";

/// Of a URI, what stands behind its path.
std::string query_and_fragment() {
  const std::string character = fmt::format("([A-Za-z0-9_.~!$&'()*+,;=:@/?\\-]|{})", kEncoded);
  return fmt::format("(\\?{0}*)?(#{0}*)?", character);
}

std::string uri_reference(bool with_scheme) {
  const std::string in_path = fmt::format("([A-Za-z0-9_.~!$&'()*+,;=:@\\-]|{})", kEncoded);
  const std::string in_first = fmt::format("([A-Za-z0-9_.~!$&'()*+,;=@\\-]|{})", kEncoded);  // no colon
  const std::string more = fmt::format("(/{}*)*", in_path);
  const std::string authority = fmt::format("//{}(:[0-9]{{1,4}})?{}", hostname(), more);
  const std::string absolute = fmt::format("/({}+{})?", in_path, more);
  const std::string relative = fmt::format("{}+{}", with_scheme ? in_path : in_first, more);
  const std::string path = fmt::format("({}|{}|{}){}", authority, absolute, relative, with_scheme ? "" : "?");
  return (with_scheme ? "[A-Za-z][A-Za-z0-9+.\\-]*:" : "") + path + query_and_fragment();
}

std::string uri_template() {
  const std::string literal = fmt::format("([A-Za-z0-9_.~!$&()*+,;=:@/?#\\-]|{})", kEncoded);
  const std::string name = "[A-Za-z0-9_]+(\\.[A-Za-z0-9_]+)*(:[1-9][0-9]{0,3}|\\*)?";
  return fmt::format("({0}|\\{{[+#./;?&]?{1}(,{1})*\\}})*", literal, name);
}

/// Quotes and backslashes would have to be escaped in JSON.
constexpr const char* kPointer = "(/([^/~\"\\\\]|~[01])*)*";

}  // namespace

std::optional<std::string> pattern_of_format(std::string_view format) {
  static const std::map<std::string_view, std::string> kPatterns = {
      {"date", date()},
      {"time", time()},
      {"date-time", date() + "T" + time()},
      {"duration", duration()},
      {"email", email()},
      {"hostname", hostname()},
      {"ipv4", ipv4()},
      {"ipv6", ipv6()},
      {"uuid", uuid()},
      {"uri", uri_reference(true)},
      {"uri-reference", uri_reference(false)},
      {"uri-template", uri_template()},
      {"json-pointer", kPointer},
      {"relative-json-pointer", std::string("(0|[1-9][0-9]*)(#|") + kPointer + ")"},
  };
  const auto found = kPatterns.find(format);
  if (found == kPatterns.end()) return std::nullopt;
  return "^" + found->second + "$";
}

bool known_format(std::string_view format) {
  constexpr std::array<std::string_view, 5> kNotEnforced = {"idn-email", "idn-hostname", "iri",
                                                            "iri-reference", "regex"};
  return pattern_of_format(format).has_value() ||
         std::find(kNotEnforced.begin(), kNotEnforced.end(), format) != kNotEnforced.end();
}

}  // namespace augur
