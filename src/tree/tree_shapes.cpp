#include "tree/tree_shapes.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string_view>

#include "base/error.h"
#include "files/json_reader.h"
#include "files/mapped_file.h"

namespace augur {
namespace {

constexpr std::size_t kMaxNodes = std::size_t{1} << 16;
constexpr std::size_t kMaxDepth = 1024;
constexpr int kMaxRank = 4095;

/// In the published trees the children of a node have the ranks 0, 1, ...: their number says it all. A node
/// is written as the digits of its path.
struct Family {
  std::string_view node;
  int children;
};

constexpr Family kMedusa[] = {{"", 10},  {"0", 10}, {"1", 7},  {"2", 3},  {"3", 2},  {"4", 1},
                              {"5", 1},  {"6", 1},  {"7", 1},  {"8", 1},  {"9", 1},  {"00", 10},
                              {"01", 3}, {"02", 2}, {"03", 1}, {"04", 1}, {"05", 1}, {"06", 1},
                              {"07", 1}, {"10", 2}, {"20", 1}, {"000", 2}};
constexpr Family kEagle[] = {{"", 4},   {"0", 3},  {"1", 2},  {"2", 2},   {"3", 1},   {"00", 3},
                             {"01", 2}, {"02", 2}, {"10", 1}, {"000", 3}, {"0000", 2}};

struct Named {
  std::string_view name;
  std::span<const Family> families;
};
constexpr Named kTrees[] = {{"mc_sim_7b_63", kMedusa}, {"eagle_mc_sim_7b_63", kEagle}};

TreePaths expand(std::span<const Family> families) {
  TreePaths paths;
  for (const Family& family : families) {
    for (int rank = 0; rank < family.children; ++rank) {
      std::vector<int>& path = paths.emplace_back();
      for (const char digit : family.node) path.push_back(digit - '0');
      path.push_back(rank);
    }
  }
  return paths;
}

std::vector<int> read_path(const nlohmann::json& value, std::size_t index, const std::string& file) {
  if (!value.is_array() || value.empty()) {
    throw Error("{}: path {}: expected a list of ranks, found {}", file, index,
                value.is_array() ? "an empty one" : value.type_name());
  }
  if (value.size() > kMaxDepth) {
    throw Error("{}: path {} has {} levels: expected at most {}", file, index, value.size(), kMaxDepth);
  }
  std::vector<int> path;
  for (const nlohmann::json& rank : value) {
    if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() > kMaxRank) {
      throw Error("{}: path {}: rank {}: expected 0 to {}", file, index, rank.dump(), kMaxRank);
    }
    path.push_back(rank.get<int>());
  }
  return path;
}

TreePaths read_paths(const std::string& file) {
  const nlohmann::json document = read_json(file);
  if (!document.is_array() || document.empty()) {
    throw Error("{}: expected a list of paths, [[0], [1], [0, 0], ...], found {}", file,
                document.is_array() ? "an empty one" : document.type_name());
  }
  TreePaths paths;
  std::set<std::vector<int>> seen;   // as listed
  std::set<std::vector<int>> nodes;  // with all that precede them
  for (std::size_t i = 0; i < document.size(); ++i) {
    std::vector<int> path = read_path(document[i], i, file);
    if (!seen.insert(path).second) throw Error("{}: path {} is listed twice", file, document[i].dump());
    for (std::vector<int> node = path; !node.empty() && nodes.insert(node).second;) node.pop_back();
    if (nodes.size() > kMaxNodes) throw Error("{}: more than {} nodes", file, kMaxNodes);
    paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace

TreePaths load_tree_paths(const std::string& name_or_file) {
  const auto* named = std::find_if(std::begin(kTrees), std::end(kTrees),
                                   [&](const Named& tree) { return tree.name == name_or_file; });
  if (named != std::end(kTrees)) return expand(named->families);
  if (file_exists(name_or_file)) return read_paths(name_or_file);
  std::string known;
  for (const Named& tree : kTrees) known += (known.empty() ? "" : ", ") + std::string(tree.name);
  throw Error(refused("static_tree"), "static tree '{}': neither a file nor one of {}", name_or_file, known);
}

}  // namespace augur
