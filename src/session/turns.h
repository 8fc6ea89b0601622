#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace augur {

/// A sender of requests.
struct Client {
  std::string name;
  std::int64_t served = 0;  ///< when one of its requests last got a place, in units of Turn::number
};

/// What decides the order of a request.
struct Turn {
  Client* client = nullptr;
  int priority = 0;         ///< higher goes first
  std::int64_t number = 0;  ///< when the request came: a count of events, different for every request
  bool settled = true;      ///< whether it may give up its place; false for one that has just got it
};

/// Decides which request runs next and which gives up its place. Clients with enough requests get equal
/// numbers of places, however many requests they send. Among one client's requests the priority decides, then
/// the order of arrival. Allocates nothing. Thread-safe.
class Turns {
 public:
  using List = std::span<const Turn* const>;

  /// `priorities_across`: the priority decides first, even between clients.
  explicit Turns(bool priorities_across) : priorities_across_(priorities_across) {}

  /// Index in `waiting` (not empty) of the request that gets the next place. It belongs to the client with
  /// the fewest requests in `running`; of equal clients, to the one that has waited longest since its request
  /// came or since it last got a place.
  std::size_t next(List waiting, List running) const;
  /// Index in `running` of the request that gives up its place to `waiting`: the last one of the client with
  /// the most places, if that client has at least two more than the waiting one's. None if no request needs
  /// to.
  std::optional<std::size_t> gives_way(const Turn& waiting, List running) const;
  /// Index in `running` (not empty) of the request to suspend first when memory is short: the last one of the
  /// client with the most places.
  std::size_t last(List running) const;

 private:
  const bool priorities_across_;
};

}  // namespace augur
