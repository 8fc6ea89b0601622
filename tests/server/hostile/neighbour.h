#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "augur/session.h"

namespace augur::hostile {

/// A request in flight beside whatever is done to the server: whenever it has ended it asks again. It counts
/// the steps of the batch that it has no part in, and can be held, and with it the batch, between two steps.
class Neighbour {
 public:
  explicit Neighbour(Session& session);
  /// Cancels it, and returns when it has ended.
  ~Neighbour();
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

  /// Returns when the batch stands still between two steps. One step later, where it does already.
  void hold();
  void let_go();
  /// Steps of the batch in a row without a token for it, at most, since this was asked last.
  std::int64_t longest_wait();

 private:
  void ask();
  bool asks_again();
  void take_token();  ///< a token, on the session's thread

  Session& session_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool leaving_ = false;
  bool has_left_ = false;  ///< no request is in flight, and none will follow
  bool holding_ = false;
  std::int64_t held_ = 0;             ///< how often it was
  std::int64_t let_go_ = 0;           ///< how often it went on
  std::optional<std::int64_t> last_;  ///< the batch's step of its last token; none: it has just begun
  std::int64_t longest_ = 0;
  std::optional<Ticket> ticket_;
};

}  // namespace augur::hostile
