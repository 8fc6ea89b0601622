#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace augur {

/// Objects and arrays nested deeper than this are refused: no file that this project reads comes near it,
/// and code that walks a document may recurse.
inline constexpr int kMaxJsonDepth = 64;

/// Parses UTF-8 JSON. Error naming `file` and the place for malformed or too deeply nested text. Of
/// duplicate keys the last one counts.
nlohmann::json parse_json(std::string_view text, std::string_view file);

/// A file's. The words Infinity, -Infinity and NaN, which Python's json writes and JSON lacks, become null.
nlohmann::json read_json(const std::filesystem::path& path);

/// As read_json, for files whose top level is an object; an empty object when there is no such file.
nlohmann::json read_json_object_if_exists(const std::filesystem::path& path);

}  // namespace augur
