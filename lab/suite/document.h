#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lab/suite/method.h"
#include "lab/suite/prompt_set.h"
#include "lab/suite/runner.h"
#include "lab/suite/state_file.h"
#include "lab/suite/workbench.h"

namespace augur {

/// What a run is about, beside what the state holds.
struct SuiteFacts {
  std::string command;  ///< the command line, for whoever repeats it
  std::string default_draft_model;
  int rounds = 1;
  int seeds = 1;
  SuiteRequest request;
};

/// What every cell depends on: the first line of a state file. The program and what the files of the model
/// and the datastore hold are part of it, not only their names: a figure of another build or of other weights
/// is another figure. Files are read.
nlohmann::ordered_json state_header(const ModelInfo& model, const std::string& fingerprint,
                                    const EngineOptions& engine, const SuiteRequest& request);

/// Names of the documents in a state file.
std::string rounds_document(const CellKey& key);
std::string text_document(const CellKey& key);
inline constexpr const char* kCostsDocument = "costs";

/// All figures, as `--json` writes them (docs/formats.md), and tables and the page show them.
nlohmann::ordered_json suite_document(const SuiteFacts& facts, const ModelInfo& model,
                                      const std::vector<PromptSet>& sets, const std::vector<Method>& methods,
                                      const SuiteRunReport& run, const StateFile& state);

/// A file of such a document, with the fields that tables and calculations read checked. Error that names the
/// file and the field when it is not one. What only the page shows (rounds, texts, costs) is not looked at.
nlohmann::ordered_json read_suite_document(const std::string& path);

/// True when some method gave other ids than the first one.
bool outputs_differ(const nlohmann::ordered_json& document);

}  // namespace augur
