#pragma once
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "server/http/http_message.h"

namespace augur {

/// Why a request does not get what it asks for, as its client is told. Thrown while the request is read, or
/// given to Exchange::fail(), which writes it in the API's own form.
class Problem : public std::runtime_error {
 public:
  /// A prompt that does not fit: what it has, and what there is, in tokens.
  struct Excess {
    std::int64_t prompt_tokens;
    std::int64_t context;
  };

  Problem(int status, const std::string& message, std::string field = {}, HttpHeaders headers = {})
      : std::runtime_error(message),
        status_(status),
        field_(std::move(field)),
        headers_(std::move(headers)) {}

  int status() const { return status_; }                   ///< of HTTP, 400 to 599
  const std::string& field() const { return field_; }      ///< of the request, that is to blame; empty: none
  const HttpHeaders& headers() const { return headers_; }  ///< of the answer
  const std::optional<Excess>& excess() const { return excess_; }

 protected:
  void set_excess(Excess excess) { excess_ = excess; }

 private:
  int status_;
  std::string field_;
  HttpHeaders headers_;
  std::optional<Excess> excess_;
};

/// What was thrown while a request was answered: a Problem as it is, 503 where memory ran out, otherwise 500.
Problem problem_of(const std::exception_ptr& thrown);

}  // namespace augur
