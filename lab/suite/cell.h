#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "augur/engine.h"
#include "lab/suite/forecasts.h"

namespace augur {

/// FNV-1a, continued from `hash`.
inline constexpr std::uint64_t kHashStart = 14695981039346656037u;
std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t hash = kHashStart);
std::uint64_t hash_text(std::string_view text, std::uint64_t hash = kHashStart);
std::string hex(std::uint64_t value);  ///< 16 digits

/// What is measured: one prompt with one method, once. Keys are hashes of what they stand for, so that a
/// file of cells stays valid when prompts, methods or rounds are added.
struct CellKey {
  std::string prompt;  ///< of the suite's name and the prompt's turns
  std::string method;  ///< of the method's text and of what its files hold
  int round = 0;
  int seed = 0;  ///< on top of the request's own

  friend auto operator<=>(const CellKey&, const CellKey&) = default;  // NOLINT(modernize-use-nullptr)
};

/// Sums over the turns of the conversation.
struct Cell {
  CellKey key;
  std::string name;  ///< for the eye: the suite and the prompt's id
  std::int64_t prompt_tokens = 0;
  std::int64_t tokens = 0;
  double prompt_ms = 0;
  double decode_ms = 0;
  SpeculationStatistics speculation;  ///< mean_accepted_length is not kept
  Forecasts forecasts;
  std::string output;  ///< hash of all generated ids; empty: another engine's, not known

  /// Adds a turn. `hash` is carried from turn to turn.
  void add(const Result& turn, std::uint64_t& hash);
};

nlohmann::ordered_json to_json(const Cell& cell);
/// Error (without a file's name) for what to_json() did not write.
Cell cell_of(const nlohmann::json& object);

}  // namespace augur
