#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "augur/engine.h"
#include "policy/step_trace.h"

namespace augur {

/// "fixed", "plain", "speculate" or "probe".
const char* name(RoundMode mode);

/// How far what was expected came true, over many rounds: of the rounds that a controller steered, and of the
/// probabilities that nodes were weighed by. Sums, so that those of several runs can be added.
struct Forecasts {
  static constexpr std::size_t kBins = 10;

  /// Nodes with a predicted chance of acceptance in [i / kBins, (i + 1) / kBins), given that their parent was
  /// accepted: only then is there an outcome.
  struct Bin {
    std::int64_t nodes = 0;
    std::int64_t accepted = 0;
    double predicted = 0;  ///< sum
  };

  std::array<std::int64_t, 4> decided{};  ///< rounds by RoundMode
  double forecast_tokens = 0;             ///< sums over the rounds that were steered
  double tokens = 0;
  double forecast_ms = 0;
  double ms = 0;
  /// Of the oracle that knew what would be accepted: these nodes alone drafted, each by its proposer, and
  /// verified. An upper bound for whoever chooses among the candidates of such rounds.
  double oracle_tokens = 0;
  double oracle_ms = 0;
  std::array<Bin, kBins> bins{};

  /// One round. `costs`: what the oracle is priced by; without measured costs there is none. `drafters`:
  /// their names in `costs`, by ProposerId - 1.
  void observe(const StepTrace& round, const MeasuredCosts& costs, std::span<const std::string> drafters);
  void add(const Forecasts& more);
  std::int64_t of(RoundMode mode) const { return decided[static_cast<std::size_t>(mode)]; }
  std::int64_t steered() const {
    return of(RoundMode::Plain) + of(RoundMode::Speculate) + of(RoundMode::Probe);
  }
  double oracle_per_second() const { return oracle_ms > 0 ? 1000 * oracle_tokens / oracle_ms : 0; }
};

/// Written with the cells of a run: the sums as they are.
nlohmann::ordered_json to_json(const Forecasts& sums);
/// What to_json() wrote; throws nlohmann::json::exception for anything else.
Forecasts forecasts_of(const nlohmann::json& object);

/// For readers: sums by their names, the oracle's rate, and predicted against observed acceptance by bin.
nlohmann::ordered_json summary(const Forecasts& sums);

}  // namespace augur
