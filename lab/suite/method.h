#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "augur/plan.h"

namespace augur {

/// A way to decode that is compared with others.
struct Method {
  std::string text;         ///< as it was written: what it is known by
  std::string label;        ///< for tables: label=, or the text without what only says where files are
  std::string draft_model;  ///< folder or file; empty: none, or the command's own
  /// What it learns from the texts of a round stays with it until the round is over: keep=1. Otherwise it
  /// begins every conversation without.
  bool keeps_learnt = false;
  SpeculationPlan speculation;
  std::string server;  ///< another engine's: the command that starts its server; empty: Augur decodes itself

  bool peer() const { return !server.empty(); }
  bool plain() const { return !peer() && speculation.plain(); }
};

/// Reads a plan (augur/plan.h) with three keys more: "plain", "ngram:n-max=8", "eagle3,ngram:topk=8,size=32",
/// "auto:model=eagle3,policy=hetero:alpha=5,label=bins". model: the draft model; label; keep: 0 or 1, see
/// Method::keeps_learnt. What is left out is `base`'s. Names of files are looked for in `parts` first (empty:
/// nowhere). Error naming what is wrong.
Method parse_method(const std::string& text, const SpeculationPlan& base,
                    const std::filesystem::path& parts = {});

/// `texts` with every "@FILE" replaced by the methods that the file has, one a line; blank lines and those
/// that begin with '#' are none. Error for a file that can't be read or names no method.
std::vector<std::string> with_method_files(const std::vector<std::string>& texts);

/// The file or folder that `name` means: in `parts` where there is one of that name, otherwise as it is.
std::string part_path(const std::string& name, const std::filesystem::path& parts);

}  // namespace augur
