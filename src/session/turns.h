#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace augur {

/// Who sends requests.
struct Client {
  std::string name;
  std::int64_t served = 0;  ///< when one of its requests got a place last, on the clock of Turn::number
};

/// What decides when a request has its turn.
struct Turn {
  Client* client = nullptr;
  int priority = 0;         ///< the highest is first
  std::int64_t number = 0;  ///< when it came, by a count of what happens; all different
  bool settled = true;      ///< it can give its place; one that has just got it cannot yet
};

/// Who is next, and who gives way, so that clients have as many requests running as others that want as many,
/// however many they send. Among requests of one client the priority decides, then who came first. Nothing is
/// allocated. Thread-safe.
class Turns {
 public:
  using List = std::span<const Turn* const>;

  /// `priorities_across`: the priority goes before everything else, whosever a request is.
  explicit Turns(bool priorities_across) : priorities_across_(priorities_across) {}

  /// Which of `waiting`, not empty, has the next place: one of the client with the fewest in `running`; of
  /// equal clients, the one that has waited longest since it came or was served.
  std::size_t next(List waiting, List running) const;
  /// Which of `running` gives its place to `waiting`: the last of the client with the most, if both have no
  /// more difference afterwards than the other way round. None: nobody need.
  std::optional<std::size_t> gives_way(const Turn& waiting, List running) const;
  /// Which of `running`, not empty, goes first where there is not room for all: the last of the client with
  /// the most.
  std::size_t last(List running) const;

 private:
  const bool priorities_across_;
};

}  // namespace augur
