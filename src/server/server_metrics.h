#pragma once
#include <memory>
#include <string>

#include "augur/session.h"

namespace augur {

/// What /metrics tells, in Prometheus' text form: under vLLM's names what routers and load generators read,
/// and under `augur:` what only this server has (docs/serving_operations.md). Thread-safe.
class ServerMetrics {
 public:
  /// `model`: the label model_name of all of them.
  explicit ServerMetrics(const std::string& model);
  ~ServerMetrics();
  ServerMetrics(const ServerMetrics&) = delete;
  ServerMetrics& operator=(const ServerMetrics&) = delete;

  /// The first token of an answer, so many seconds after it was asked for.
  void first_token(double seconds);
  /// Another one, so many seconds after the one before.
  void next_token(double seconds);
  /// An answer has ended, as it may, so many seconds after it was asked for.
  void ended(const Result& result, double seconds);

  /// A request was answered with a status that is an error.
  void count_refusal(int status);

  std::string text(const SessionLoad& load);
  /// Returns when text() has been called once more, at the latest after `seconds`. Whether it was.
  bool wait_for_reader(double seconds);

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace augur
