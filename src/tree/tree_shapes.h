#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace augur {

/// A fixed tree as StaticTreePolicy takes it: for every node the ranks of the children that lead to it.
using TreePaths = std::vector<std::vector<int>>;

/// A published tree by name:
///   mc_sim_7b_63        Medusa's, 63 nodes beside the root, 4 levels
///   eagle_mc_sim_7b_63  EAGLE-1's of the same name, 25 nodes, 5 levels
/// or a JSON file: a list of lists of ranks, [[0], [1], [0, 0], ...]. What precedes a listed node belongs to
/// the tree, listed or not. Error naming the file and the path that is not as it must be; for what is neither
/// a name nor a file, listing the names.
TreePaths load_tree_paths(const std::string& name_or_file);

}  // namespace augur
