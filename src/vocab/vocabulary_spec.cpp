#include "vocab/vocabulary_spec.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace augur {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 24;

std::optional<std::int64_t> positive(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value < 1 || value > kMost) {
    return std::nullopt;
  }
  return value;
}

/// What stands behind the last colon, if it is made of digits and commas: paths may have colons, too.
std::string_view cut_numbers(std::string_view& path) {
  const std::size_t colon = path.rfind(':');
  if (colon == std::string_view::npos) return {};
  const std::string_view tail = path.substr(colon + 1);
  if (tail.empty() || tail.find_first_not_of("0123456789,") != std::string_view::npos) return {};
  path = path.substr(0, colon);
  return tail;
}

}  // namespace

VocabularySpec VocabularySpec::parse(const std::string& text) {
  const auto fail = [&](std::string_view problem) -> Error {
    return Error(
        "draft vocabulary '{}': {}; expected full, frspec:FILE[:SIZE], pafr:FILE[:SIZE], hot:FILE[:SIZE] or "
        "dynaspec:FOLDER[:K|:K0,K1]",
        text, problem);
  };
  VocabularySpec spec;
  if (text.empty() || text == "full") return spec;
  const std::size_t colon = text.find(':');
  const std::string_view kind = std::string_view(text).substr(0, colon);
  if (kind == "frspec") {
    spec.kind = Kind::Frequent;
  } else if (kind == "pafr") {
    spec.kind = Kind::PositionAware;
  } else if (kind == "hot") {
    spec.kind = Kind::Hot;
  } else if (kind == "dynaspec") {
    spec.kind = Kind::Clusters;
  } else {
    throw fail("unknown kind");
  }
  std::string_view path =
      colon == std::string::npos ? std::string_view{} : std::string_view(text).substr(colon + 1);
  const std::string_view numbers = cut_numbers(path);
  if (path.empty()) throw fail("no file is named");
  spec.path = path;
  if (numbers.empty()) return spec;
  const std::size_t comma = numbers.find(',');
  const auto first = positive(numbers.substr(0, comma));
  if (spec.kind != Kind::Clusters) {
    if (!first || comma != std::string_view::npos) throw fail("the size is not a number of tokens");
    spec.size = *first;
    return spec;
  }
  const auto second = comma == std::string_view::npos ? first : positive(numbers.substr(comma + 1));
  if (!first || !second) throw fail("the budget is not one or two numbers of clusters");
  spec.first = *first;
  spec.second = *second;
  spec.position_aware = comma != std::string_view::npos;
  return spec;
}

}  // namespace augur
