#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "files/mapped_file.h"
#include "lab/suite/document.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

using Kind = bool (ordered_json::*)() const noexcept;
constexpr Kind kText = &ordered_json::is_string;
constexpr Kind kNumber = &ordered_json::is_number;
constexpr Kind kList = &ordered_json::is_array;

const ordered_json& field(const ordered_json& object, const char* key, Kind kind, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || !((*found).*kind)()) {
    throw Error("{}: not what 'augur bench suite --json' writes: {}: missing, or of another kind", where,
                key);
  }
  return *found;
}

void check(const ordered_json& object, std::initializer_list<const char*> keys, Kind kind,
           const std::string& where) {
  for (const char* key : keys) field(object, key, kind, where);
}

/// Figures of every method, or of none.
void check_rows(const ordered_json& rows, std::size_t methods, const std::string& where) {
  if (!rows.empty() && rows.size() != methods) {
    throw Error("{}: expected a row for each of {} methods, found {}", where, methods, rows.size());
  }
  for (const ordered_json& row : rows) {
    check(row,
          {"tokens_per_second", "speedup", "tau", "accept_length", "tokens", "calls", "verified_tokens",
           "draft_ms", "verify_ms", "other_ms", "different"},
          kNumber, where);
    for (const char* key : {"speedup_by_round", "speedup_by_prompt"}) {
      const ordered_json& spread = field(row, key, kList, where);
      if (spread.size() != 3 ||
          !std::all_of(spread.begin(), spread.end(), [](const ordered_json& x) { return x.is_number(); })) {
        throw Error("{}: {}: expected three numbers", where, key);
      }
    }
  }
}

}  // namespace

ordered_json read_suite_document(const std::string& path) {
  const MappedFile file(path);
  ordered_json document =
      ordered_json::parse(file.bytes().begin(), file.bytes().end(), nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || document.value("augur_suite", ordered_json()) != 1) {
    throw Error("{}: not a file that 'augur bench suite --json' wrote", path);
  }
  const auto part = [&](const char* key) -> const ordered_json& {
    return field(document, key, &ordered_json::is_object, path);
  };
  const ordered_json& methods = field(document, "methods", kList, path);
  for (const ordered_json& method : methods) {
    check(method, {"label", "text"}, kText, path + ": methods");
    check(method, {"peer"}, &ordered_json::is_boolean, path + ": methods");
  }
  check_rows(field(document, "overall", kList, path), methods.size(), path + ": overall");
  for (const ordered_json& suite : field(document, "suites", kList, path)) {
    check(suite, {"name"}, kText, path + ": suites");
    check_rows(field(suite, "methods", kList, path + ": suites"), methods.size(), path + ": suites");
  }
  check(document, {"rounds"}, kNumber, path);
  check(part("settings"), {"temperature", "max_tokens"}, kNumber, path + ": settings");
  check(part("machine"), {"cpu"}, kText, path + ": machine");
  check(part("machine"), {"threads"}, kNumber, path + ": machine");
  check(part("model"), {"name", "weights"}, kText, path + ": model");
  return document;
}

bool outputs_differ(const ordered_json& document) {
  return std::any_of(document["overall"].begin(), document["overall"].end(),
                     [](const ordered_json& row) { return row["different"] != 0; });
}

}  // namespace augur
