#include "vocab/vocabulary_spec.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "files/part_location.h"

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

/// What stands behind the last colon, or alone, if it is made of digits and separators: paths may have
/// colons, too.
std::string_view cut_numbers(std::string_view& path) {
  const std::size_t colon = path.rfind(':');
  const std::string_view tail = path.substr(colon == std::string_view::npos ? 0 : colon + 1);
  if (tail.empty() || tail.find_first_not_of("0123456789,;") != std::string_view::npos) return {};
  path = path.substr(0, colon == std::string_view::npos ? 0 : colon);
  return tail;
}

/// The same, where clusters may have the word `floor` behind their numbers; without numbers it is a path's.
std::string_view cut_budget(std::string_view& path, VocabularySpec& spec) {
  constexpr std::string_view kFloor = ":floor";
  if (spec.kind != VocabularySpec::Kind::Clusters || !path.ends_with(kFloor)) return cut_numbers(path);
  std::string_view before = path.substr(0, path.size() - kFloor.size());
  const std::string_view numbers = cut_numbers(before);
  if (numbers.empty()) return {};
  spec.floored = true;
  path = before;
  return numbers;
}

/// The word of a kind, and the part that it is made with.
struct Name {
  VocabularySpec::Kind kind;
  std::string_view word;
  std::string_view part;
};

constexpr Name kNames[] = {{VocabularySpec::Kind::Full, "full", ""},
                           {VocabularySpec::Kind::Auto, "auto", ""},
                           {VocabularySpec::Kind::Frequent, "frspec", "frspec"},
                           {VocabularySpec::Kind::PositionAware, "pafr", "frspec"},
                           {VocabularySpec::Kind::Hot, "hot", "frspec"},
                           {VocabularySpec::Kind::Clusters, "dynaspec", "dynaspec"}};

const Name& name_of(VocabularySpec::Kind kind) {
  return *std::find_if(std::begin(kNames), std::end(kNames),
                       [&](const Name& name) { return name.kind == kind; });
}

}  // namespace

VocabularySpec VocabularySpec::parse(const std::string& text) {
  const auto fail = [&](std::string_view problem) -> Error {
    return Error(
        refused("draft_vocabulary"),
        "draft vocabulary '{}': {}; expected auto[:FOLDER], full, frspec[:FILE][:SIZE], pafr[:FILE][:SIZE], "
        "hot[:FILE][:SIZE] or dynaspec[:FOLDER][:K|:K0,K1[:floor]]",
        text, problem);
  };
  VocabularySpec spec;
  if (text == "full") return spec;
  if (text.empty()) {
    spec.kind = Kind::Auto;
    return spec;
  }
  const std::size_t colon = text.find(':');
  const std::string_view kind = std::string_view(text).substr(0, colon);
  const auto name = std::find_if(std::begin(kNames), std::end(kNames),
                                 [&](const Name& known) { return known.word == kind; });
  if (name == std::end(kNames) || name->kind == Kind::Full) throw fail("unknown kind");
  spec.kind = name->kind;
  std::string_view path =
      colon == std::string::npos ? std::string_view{} : std::string_view(text).substr(colon + 1);
  if (colon != std::string::npos && path.empty()) throw fail("no file is named");
  if (spec.kind == Kind::Auto) {  // it has no size of its own
    spec.path = path;
    return spec;
  }
  const std::string_view numbers = cut_budget(path, spec);
  spec.path = path;
  if (numbers.empty()) return spec;
  const std::size_t comma = numbers.find_first_of(",;");
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
  if (spec.floored && !spec.position_aware) throw fail("only a budget K0,K1 falls with the step");
  return spec;
}

VocabularySpec VocabularySpec::located(const std::filesystem::path& parts) const {
  if (kind == Kind::Full) return *this;
  if (kind == Kind::Auto) {
    const std::filesystem::path folder = path.empty() ? parts : std::filesystem::path(path);
    if (!find_part(folder, "frspec").empty() || !find_part(folder, "dynaspec").empty()) {
      return {.kind = kind, .path = folder.string()};
    }
    if (path.empty()) return {};
    throw Error(refused("draft_vocabulary"), "draft vocabulary {}: expected frspec or dynaspec in {}",
                to_string(*this), path);
  }
  if (!path.empty()) return *this;
  VocabularySpec spec = *this;
  const Name& name = name_of(kind);
  spec.path = require_part(parts, name.part, fmt::format("draft vocabulary {}", name.word),
                           fmt::format("{}:PATH", name.word))
                  .string();
  return spec;
}

std::string to_string(const VocabularySpec& spec) {
  std::string text(name_of(spec.kind).word);
  if (!spec.path.empty()) text += ":" + spec.path;
  if (spec.size > 0) text += fmt::format(":{}", spec.size);
  if (spec.first > 0) text += fmt::format(":{}", spec.first);
  if (spec.position_aware) text += fmt::format(";{}", spec.second);
  if (spec.floored) text += ":floor";
  return text;
}

}  // namespace augur
