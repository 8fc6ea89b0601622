#pragma once
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/suite/workbench.h"

namespace CLI {
class App;
}

namespace augur::cli {

/// What is measured against what, and where the figures go. `bench suite`, `bench spec` and `bench paper` are
/// the same comparison with other defaults.
struct Comparison {
  EngineOptions engine;
  SuiteRequest request;      ///< its `chat` is settled by the next
  std::optional<bool> chat;  ///< nothing: where the model has a template
  std::string prompt;        ///< in place of files
  std::vector<std::string> files;
  int limit = -1;  ///< prompts of each file; < 0: all
  std::vector<std::string> methods;
  std::string peers;
  std::string parts = "models";
  int rounds = 3;
  int seeds = 1;
  int budget = 0;  ///< nodes of a round, for every policy alike; 0: as each wants
  double minutes = 0;
  bool quick = false;
  int analyse = 2;
  int samples = 1;
  bool show = false;
  bool details = false;
  std::string json;
  std::string csv;  ///< empty: none
  std::string report;
  std::string state;  ///< empty: nothing is kept for a run that goes on
  std::string log;
};

/// What is printed of a document of suite_document().
using Tables = std::function<std::string(const nlohmann::ordered_json& document)>;

/// -m and its like, prompts, requests, results. Flags of `command` are bound to `comparison`, which holds the
/// defaults and must live as long as `command`.
void add_comparison_flags(CLI::App& command, Comparison& comparison);
/// --methods, --peers, --quick, where the command does not say itself what is compared; after the others.
void add_method_flags(CLI::App& command, Comparison& comparison);

/// Where nobody says otherwise, the state and the cells lie beside the file of --json: "suite.jsonl",
/// "suite.csv".
void name_files_beside_json(Comparison& comparison);

/// What is compared of the draft model that the command has, where nobody says: a chain, a tree, `auto`.
/// `budgeted`: with a budget in place of their sizes.
std::vector<std::string> draft_model_methods(bool budgeted);

/// Runs what has not been run yet, writes the files and prints `tables`. Returns the exit code: 1 when some
/// method gave other tokens than plain decoding.
int compare(const Comparison& comparison, const Tables& tables);

}  // namespace augur::cli
