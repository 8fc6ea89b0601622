#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "policy/auto/cost.h"
#include "policy/step_trace.h"

namespace augur::cli {

/// How far what was forecast came true, over many rounds: of the rounds that a controller steered, and of the
/// probabilities that nodes were weighed by.
struct ForecastCheck {
  static constexpr std::size_t kBins = 10;

  /// Nodes with a predicted chance of acceptance in [i / kBins, (i + 1) / kBins), given that their parent was
  /// accepted: only then is there an outcome.
  struct Bin {
    std::int64_t nodes = 0;
    std::int64_t accepted = 0;
    double predicted = 0;  ///< sum
  };

  std::int64_t plain = 0;  ///< rounds by what was decided
  std::int64_t speculated = 0;
  std::int64_t probed = 0;
  double forecast_tokens = 0;  ///< sums over these rounds
  double tokens = 0;
  double forecast_ms = 0;
  double ms = 0;
  double oracle_tokens = 0;
  double oracle_ms = 0;
  std::array<Bin, kBins> bins{};

  void observe(const StepTrace& trace);
  /// What the round would have taken by `costs`, had it been known what would be accepted: these nodes alone
  /// drafted, each by its proposer (`drafters` by ProposerId - 1), and verified. An upper bound for whoever
  /// chooses among the candidates of such rounds.
  void observe_oracle(const StepTrace& trace, CostModel& costs, std::span<const std::string> drafters);
  void add(const ForecastCheck& more);
  std::int64_t steered() const { return plain + speculated + probed; }
  /// Predicted over measured tokens per second; 0 when nobody made forecasts.
  double rate_ratio() const;
  double oracle_per_second() const { return oracle_ms > 0 ? 1000 * oracle_tokens / oracle_ms : 0; }
  nlohmann::ordered_json to_json() const;
};

}  // namespace augur::cli
