#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lab/suite/parts.h"

namespace augur {

/// What a paper prints in one row of one of its tables, for one model and one data set. papers.json says
/// where each figure stands: table, row and column are the paper's own names.
struct PaperReading {
  std::string table;
  std::string row;
  std::string model;
  std::string dataset;  ///< "Mean": over those of the table; empty: none
  double temperature = 0;
  std::map<std::string, double> figures;  ///< by the paper's column
  std::string remark;                     ///< what the text has lost of it, or what contradicts it
};

/// A row of a table: a method, and what the paper says of it.
struct PaperRow {
  std::string label;
  std::string method;  ///< in the syntax of parse_method; empty: the paper alone has figures
  std::vector<PaperReading> paper;
};

struct PaperTable {
  std::string title;
  std::vector<std::string> columns;  ///< as paper_tables() computes them: speedup, tau, calls, ...
  std::vector<PaperRow> rows;        ///< the first is what counts are compared with
  bool by_suite = false;             ///< shown for every suite, beside the paper's figures for its data set
  bool lengths = false;              ///< followed by what draft_length.h makes of the longest chain
};

/// The tables of a paper, to be measured again with a drafter at hand.
struct PaperStudy {
  std::string title;
  std::string differs;  ///< what is not as in the paper
  std::vector<PaperTable> tables;
  std::map<std::string, std::string> suites;  ///< by the paper's data set, where there is one

  /// Every method once, plain first.
  std::vector<std::string> methods() const;
};

/// Those of papers.json: "hetero", "c2t", "acceptance", "dynaspec", "overview".
std::vector<std::string> paper_names();

/// All that papers.json quotes of a paper, whether or not there are parts for its rows.
std::vector<PaperReading> paper_readings(const std::string& name);

/// The study for a drafter among `parts` (of the folder `folder`) and the policies' parts made for it; rows
/// that need a part which is not there are left out, and tables of such rows alone. Error when the name is
/// unknown, or the part that the study is about is missing.
PaperStudy paper_study(const std::string& name, const FoundPart& drafter, const std::vector<FoundPart>& parts,
                       const std::string& folder);

}  // namespace augur
