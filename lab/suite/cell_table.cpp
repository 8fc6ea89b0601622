#include "lab/suite/cell_table.h"

#include <nlohmann/json.hpp>

#include "lab/suite/csv.h"
#include "lab/suite/keys.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

ordered_json row_of(const SuitePrompt& prompt, const Method& method, const Cell& cell) {
  const SpeculationStatistics& s = cell.speculation;
  return {{"prompt", prompt.id},
          {"category", prompt.category},
          {"method", method.label},
          {"seed", cell.key.seed},
          {"round", cell.key.round},
          {"prompt_tokens", cell.prompt_tokens},
          {"tokens", cell.tokens},
          {"prompt_ms", cell.prompt_ms},
          {"decode_ms", cell.decode_ms},
          {"calls", s.calls},
          {"verified_tokens", s.verified_tokens},
          {"drafted_tokens", s.drafted_tokens},
          {"accepted_tokens", s.accepted_tokens},
          {"draft_ms", s.draft_ms},
          {"verify_ms", s.verify_ms},
          {"other_ms", s.other_ms},
          {"output", cell.output}};
}

}  // namespace

ordered_json cell_rows(const PromptSet& set, const std::vector<Method>& methods,
                       std::span<const std::string> keys, int rounds, int seeds, const StateFile& state) {
  ordered_json rows = ordered_json::array();
  for (const SuitePrompt& prompt : set.prompts) {
    const std::string key = prompt_key(set.name, prompt);
    for (int seed = 0; seed < seeds; ++seed) {
      for (int round = 0; round < rounds; ++round) {
        for (std::size_t m = 0; m < methods.size(); ++m) {
          const auto cell = state.cells().find({key, keys[m], round, seed});
          if (cell != state.cells().end()) rows.push_back(row_of(prompt, methods[m], cell->second));
        }
      }
    }
  }
  return rows;
}

std::string csv_of_cells(const ordered_json& document) {
  std::string csv;
  for (const ordered_json& suite : document["suites"]) {
    for (const ordered_json& row : suite["cells"]) {
      if (csv.empty()) {
        csv = "suite";
        for (const auto& [name, unused] : row.items()) csv += "," + name;
        csv += "\n";
      }
      csv += csv_field(suite["name"]);
      for (const auto& [unused, value] : row.items()) csv += "," + csv_field(value);
      csv += "\n";
    }
  }
  return csv;
}

}  // namespace augur
