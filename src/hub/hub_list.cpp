#include "hub/hub_list.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "files/json_fields.h"
#include "files/json_reader.h"
#include "hub/hexadecimal.h"

namespace augur {

namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
constexpr std::size_t kLongestName = 255;  // of a file in Linux's file systems
constexpr std::size_t kLongestPath = 1024;

bool stays_inside(std::string_view path) {
  if (path.empty() || path.size() > kLongestPath) return false;
  while (true) {
    const auto slash = path.find('/');
    const std::string_view name = path.substr(0, slash);
    const bool plain = !name.empty() && name != "." && name != ".." && name.size() <= kLongestName &&
                       std::all_of(name.begin(), name.end(),
                                   [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != 0x7f; });
    if (!plain) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

HubFile read_file(const nlohmann::json& entry, const std::string& source) {
  if (!entry.is_object()) throw Error("{}: siblings: expected objects", source);
  HubFile file;
  const JsonFields fields(entry, source, "siblings.");
  file.path = fields.find_string("rfilename").value_or("");
  if (!stays_inside(file.path)) {
    throw Error("{}: siblings.rfilename: {:?} is no path inside the repository", source, file.path);
  }
  // A large file is a pointer in git, to content that has a hash of its own.
  const auto large = fields.find_object("lfs");
  const JsonFields& content = large ? *large : fields;
  file.bytes = static_cast<std::uint64_t>(content.require_int("size", kMostBytes, 0));
  file.hash = content.find_string(large ? "sha256" : "blobId").value_or("");
  if (!is_content_hash(file.hash)) {
    throw Error("{}: {}: expected the hash of its content, found {:?}", source, file.path, file.hash);
  }
  return file;
}

}  // namespace

HubList parse_hub_list(std::string_view json, std::string_view source) {
  const std::string name(source);
  const nlohmann::json document = parse_json(json, name);
  if (!document.is_object()) throw Error("{}: expected an object", name);
  const JsonFields fields(document, name);
  HubList list;
  list.commit = fields.find_string("sha").value_or("");
  if (!is_hexadecimal(list.commit, kGitHashDigits)) {
    throw Error("{}: sha: expected a commit of 40 hexadecimal digits, found {:?}", name, list.commit);
  }
  const nlohmann::json* files = fields.find("siblings");
  if (files == nullptr || !files->is_array()) throw Error("{}: siblings: expected a list of files", name);
  for (const nlohmann::json& entry : *files) list.files.push_back(read_file(entry, name));
  const auto by_path = [](const HubFile& a, const HubFile& b) { return a.path < b.path; };
  std::sort(list.files.begin(), list.files.end(), by_path);
  const auto same = [](const HubFile& a, const HubFile& b) { return a.path == b.path; };
  if (const auto twice = std::adjacent_find(list.files.begin(), list.files.end(), same);
      twice != list.files.end()) {
    throw Error("{}: siblings: {} is there twice", name, twice->path);
  }
  return list;
}

}  // namespace augur
