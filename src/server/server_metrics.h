#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "augur/session.h"

namespace augur {

/// What /metrics tells, in Prometheus' text form: under vLLM's names what routers and load generators read,
/// and under `augur:` what only this server has (docs/serving_operations.md). Thread-safe, but for
/// add_total().
class ServerMetrics {
 public:
  /// `model`: the label model_name of all that is not the process's. `llamacpp`: names of llama.cpp's server
  /// beside.
  explicit ServerMetrics(const std::string& model, bool llamacpp = false);
  ~ServerMetrics();
  ServerMetrics(const ServerMetrics&) = delete;
  ServerMetrics& operator=(const ServerMetrics&) = delete;

  /// A total that somebody else counts, which is asked for whenever text() is. Before the first text().
  void add_total(const std::string& name, const std::string& help, std::function<std::int64_t()> total);

  // An answer, in this order; some end before their first token.
  /// It has its place in the batch, so many seconds after it was asked for.
  void began(double seconds);
  /// Its first token, so many seconds after it was asked for. Its prompt counts from here on.
  void first_token(double seconds, std::int64_t prompt_tokens);
  /// Another one, so many seconds after the one before.
  void next_token(double seconds);
  /// Of these tokens, one that was drafted, at this depth, from 1.
  void accepted_token(int depth);
  /// A round that verified so many drafted tokens, more than none.
  void drafted(std::int64_t tokens);

  struct Times {
    double whole = 0;        ///< seconds since it was asked for
    double prompt = 0;       ///< from its beginning to its first token
    double writing = 0;      ///< from its first token to its last one
    bool has_token = false;  ///< it has got to its first token
  };
  /// It has ended, as it may. Its prompt counts here where there was no first token.
  void ended(const Result& result, const Times& times);

  /// What a request for `choices` answers asks for, of each so many tokens at most; below 0: any number.
  void asked(int choices, std::int64_t max_tokens);
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
