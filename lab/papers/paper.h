#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lab/suite/parts.h"

namespace augur {

/// A row of a paper's table: a method, and what the paper says of it.
struct PaperRow {
  std::string label;
  std::string method;                                ///< in the syntax of parse_method
  std::map<std::string, std::vector<double>> paper;  ///< by the paper's model: a figure a column, NaN: none
};

struct PaperTable {
  std::string title;
  std::vector<std::string> columns;  ///< speedup, tau, accept_length, calls, verified
  std::vector<PaperRow> rows;        ///< the first is what counts are compared with
};

/// The tables of a paper, to be measured again with a drafter at hand.
struct PaperStudy {
  std::string title;
  std::string differs;  ///< what is not as in the paper
  std::vector<PaperTable> tables;

  /// Every method once, plain first.
  std::vector<std::string> methods() const;
};

/// Those of papers.json: "hetero", "c2t", "acceptance", "dynaspec".
std::vector<std::string> paper_names();

/// The study for a drafter among `parts` (of the folder `folder`) and the policies' parts made for it; rows
/// that need a part which is not there are left out. Error when the name is unknown, or the part that the
/// study is about is missing.
PaperStudy paper_study(const std::string& name, const FoundPart& drafter, const std::vector<FoundPart>& parts,
                       const std::string& folder);

/// Tables with our figures (those of `document`, over all its suites) and the paper's, for a terminal.
std::string paper_tables(const PaperStudy& study, const nlohmann::ordered_json& document);

}  // namespace augur
