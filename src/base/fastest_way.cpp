#include "base/fastest_way.h"

#include <vector>

#include "base/calm_times.h"

namespace augur {
namespace {

constexpr int kTurns = 5;
constexpr int kMostTurns = 3 * kTurns;  ///< beside a busy program

}  // namespace

FastestWay fastest_way(std::size_t ways, double faster, const std::function<double(std::size_t)>& ms) {
  for (std::size_t way = 0; way < ways; ++way) ms(way);  // warms up
  CalmTimes seen;
  std::vector<CalmTimes::Time> times;
  const double calm = (1 - faster) / 2;
  for (int turn = 1; turn <= kMostTurns; ++turn) {
    for (std::size_t way = 0; way < ways; ++way) seen.add(static_cast<double>(way), ms(way));
    if (turn < kTurns) continue;
    times = seen.times();
    if (times.front().doubt <= calm) break;
  }
  const double doubt = times.front().doubt;  // of all: as many times each; two of them are seldom exceeded
  std::size_t fastest = 0;
  for (std::size_t way = 1; way < ways; ++way) {
    if (times[way].ms < times[fastest].ms * (fastest == 0 ? faster - 2 * doubt : 1)) fastest = way;
  }
  return {.way = fastest, .doubt = doubt};
}

}  // namespace augur
