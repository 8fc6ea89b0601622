#pragma once
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "augur/error.h"
#include "server/http/http_message.h"

namespace augur {

/// Why a request fails, as its client is told. Thrown while the request is read, or passed to
/// Exchange::fail(), which writes it in the API's form.
class Problem : public std::runtime_error {
 public:
  /// A prompt that does not fit: its length and the available length, in tokens.
  struct Excess {
    std::int64_t prompt_tokens;
    std::int64_t context;
  };

  Problem(int status, const std::string& message, std::string field = {}, HttpHeaders headers = {})
      : std::runtime_error(message),
        status_(status),
        field_(std::move(field)),
        headers_(std::move(headers)) {}

  int status() const { return status_; }  ///< of HTTP, 400 to 599
  /// field of the request that is the reason; empty: none
  const std::string& field() const { return field_; }
  const HttpHeaders& headers() const { return headers_; }  ///< of the answer
  const std::optional<Excess>& excess() const { return excess_; }
  const std::string& refused() const { return refused_; }  ///< Refusal; empty: it is none
  bool expected() const { return expected_; }              ///< it is temporary and not a fault (NotServing)

 protected:
  void set_excess(Excess excess) { excess_ = excess; }
  void set_refused(std::string reason) { refused_ = std::move(reason); }
  void set_expected() { expected_ = true; }

 private:
  int status_;
  std::string field_;
  HttpHeaders headers_;
  std::optional<Excess> excess_;
  std::string refused_;
  bool expected_ = false;
};

/// The caller has no permission. Also written to the log, for those who manage the keys.
class Refusal : public Problem {
 public:
  /// `reason`: a few words, by which such lines are found.
  Refusal(int status, std::string reason, const std::string& message, HttpHeaders headers = {})
      : Problem(status, message, {}, std::move(headers)) {
    set_refused(std::move(reason));
  }
};

/// The model is loading, or the server is about to end: another one answers, or this one does soon.
class NotServing : public Problem {
 public:
  explicit NotServing(const std::string& message) : Problem(503, message, {}, {{"Retry-After", "1"}}) {
    set_expected();
  }
};

/// The Problem for an error of this kind. 503 and 429 say that a later try may do. A kind that blames the
/// caller is a 400 if the field is known; without one, what the server has of its own is to blame.
Problem problem_of(const ErrorCause& cause, const std::string& message);
/// The same for an exception while a request was answered; a Problem unchanged.
Problem problem_of(const std::exception_ptr& thrown);

}  // namespace augur
