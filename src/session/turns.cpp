#include "session/turns.h"

#include <algorithm>

namespace augur {
namespace {

std::int64_t count(Turns::List running, const Turn& of) {
  return std::count_if(running.begin(), running.end(),
                       [&](const Turn* turn) { return turn->client == of.client; });
}

/// Of requests of one client.
bool before(const Turn& a, const Turn& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.number < b.number;
}

/// The last of the client with the most of `running`, of those that are eligible and whose clients have at
/// least so many; of equal clients, that with the newest request.
template <class Eligible>
std::optional<std::size_t> worst(Turns::List running, std::int64_t least, const Eligible& eligible) {
  const Turn* newest = nullptr;  // of the client
  std::int64_t most = least;
  for (const Turn* turn : running) {
    if (!eligible(*turn)) continue;
    const std::int64_t its = count(running, *turn);
    if (its < most || (newest != nullptr && its == most && turn->number < newest->number)) continue;
    newest = turn;
    most = its;
  }
  std::optional<std::size_t> found;
  for (std::size_t i = 0; newest != nullptr && i < running.size(); ++i) {
    if (running[i]->client != newest->client || !eligible(*running[i])) continue;
    if (!found || before(*running[*found], *running[i])) found = i;
  }
  return found;
}

}  // namespace

std::size_t Turns::next(List waiting, List running) const {
  int highest = waiting[0]->priority;
  for (const Turn* turn : waiting) highest = std::max(highest, turn->priority);
  const Turn* first = nullptr;  // of the client whose turn it is
  std::int64_t fewest = 0;
  std::int64_t longest = 0;
  for (const Turn* turn : waiting) {
    if (priorities_across_ && turn->priority < highest) continue;
    const std::int64_t its = count(running, *turn);
    const std::int64_t waits_since = std::max(turn->client->served, turn->number);
    if (first != nullptr && (its > fewest || (its == fewest && waits_since > longest))) continue;
    first = turn;
    fewest = its;
    longest = waits_since;
  }
  std::size_t best = waiting.size();
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i]->client != first->client) continue;
    if (best == waiting.size() || before(*waiting[i], *waiting[best])) best = i;
  }
  return best;
}

std::optional<std::size_t> Turns::gives_way(const Turn& waiting, List running) const {
  const auto eligible = [&](const Turn& turn) {
    return turn.settled && (!priorities_across_ || turn.priority <= waiting.priority);
  };
  return worst(running, count(running, waiting) + 2, eligible);
}

std::size_t Turns::last(List running) const {
  int lowest = running[0]->priority;
  for (const Turn* turn : running) lowest = std::min(lowest, turn->priority);
  const auto eligible = [&](const Turn& turn) { return !priorities_across_ || turn.priority == lowest; };
  return *worst(running, 1, eligible);
}

}  // namespace augur
