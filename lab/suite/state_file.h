#pragma once
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "lab/suite/cell.h"

namespace augur {

/// What a run has measured so far, one JSON object a line: first what every cell depends on (model, machine,
/// sampling), then cells and named documents (analyses) as they are finished. A run that is cut off loses at
/// most the line it was writing, and the next one goes on where it ended. One thread at a time.
class StateFile {
 public:
  /// Opens or begins the file; an empty path: nothing is kept beyond this object. Error naming the first
  /// setting in which `header` differs from the file's: figures of two settings are not mixed.
  StateFile(const std::filesystem::path& path, const nlohmann::ordered_json& header);

  const std::map<CellKey, Cell>& cells() const { return cells_; }
  bool has(const CellKey& key) const { return cells_.count(key) > 0; }
  void add(const Cell& cell);

  /// Null where there is none of that name.
  const nlohmann::ordered_json* document(const std::string& name) const;
  void put(const std::string& name, const nlohmann::ordered_json& document);

 private:
  void read(const nlohmann::ordered_json& header);
  void write(const nlohmann::ordered_json& line);

  std::filesystem::path path_;
  std::ofstream out_;
  std::map<CellKey, Cell> cells_;
  std::map<std::string, nlohmann::ordered_json> documents_;
};

}  // namespace augur
