#include "server/served_exchange.h"

#include <utility>

namespace augur {
namespace {

constexpr int kClientGone = 499;  // as nginx has it

}  // namespace

ServedExchange::ServedExchange(std::shared_ptr<HttpExchange> http, const ErrorForm& form,
                               std::shared_ptr<RequestRecord> record, RequestLog& log, ServerMetrics& metrics,
                               std::shared_ptr<RequestTrace> trace, std::string_view model)
    : http_(std::move(http)),
      form_(form),
      record_(std::move(record)),
      log_(log),
      metrics_(metrics),
      trace_(std::move(trace)),
      model_(model) {}

ServedExchange::~ServedExchange() {
  fail(Problem(500, "the request was dropped"));
  log_.write(*record_);
  if (trace_) trace_->finish(*record_, model_);
}

void ServedExchange::add_header(std::string name, std::string value) {
  const std::lock_guard lock(mutex_);
  headers_.emplace_back(std::move(name), std::move(value));
}

void ServedExchange::respond(int status, std::string body, HttpHeaders headers) {
  const std::lock_guard lock(mutex_);
  if (state_ == State::Unanswered) send_response(status, std::move(body), std::move(headers));
}

void ServedExchange::begin_stream(HttpHeaders headers) {
  const std::lock_guard lock(mutex_);
  if (state_ == State::Unanswered) write_head(std::move(headers));
}

void ServedExchange::send_event(std::string data, std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (state_ == State::Unanswered) write_head({});
  if (state_ == State::Streaming) http_->send_event(std::move(data), name);
}

void ServedExchange::end_stream() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::Streaming) return;
  end_with(200);
  http_->end_stream();
}

void ServedExchange::fail(const Problem& problem) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::Ended) note(problem);
  if (state_ == State::Unanswered) {
    send_response(problem.status(), form_.body(problem), problem.headers());
  } else if (state_ == State::Streaming) {
    break_off(problem.status(), form_.body(problem), form_.event);
  }
}

void ServedExchange::fail(const Problem& problem, std::string data, std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::Ended) note(problem);
  if (state_ == State::Unanswered) {
    send_response(problem.status(), form_.body(problem), problem.headers());
  } else if (state_ == State::Streaming) {
    break_off(problem.status(), std::move(data), name);
  }
}

void ServedExchange::when_closed(std::function<void()> closed) {
  http_->when_closed(std::move(closed));
}

bool ServedExchange::client_gone() const {
  return http_->client_gone();
}

/// Before it is told.
void ServedExchange::note(const Problem& problem) {
  record_->error = problem.what();
  record_->expected = problem.expected();
  if (!problem.refused().empty()) log_.write_refusal(*record_, problem.refused(), problem.status());
}

void ServedExchange::write_head(HttpHeaders headers) {
  headers.insert(headers.end(), headers_.begin(), headers_.end());
  http_->begin_stream(std::move(headers));
  state_ = State::Streaming;
}

void ServedExchange::send_response(int status, std::string body, HttpHeaders headers) {
  headers.insert(headers.end(), headers_.begin(), headers_.end());
  end_with(status);
  http_->respond(status, std::move(body), std::move(headers));
}

/// It is too late for a status: the problem is the stream's last event.
void ServedExchange::break_off(int status, std::string data, std::string_view name) {
  end_with(status);
  http_->send_event(std::move(data), name);
  http_->end_stream();
}

/// Before the client is told: whoever has its answer finds it counted.
void ServedExchange::end_with(int status) {
  state_ = State::Ended;
  record_->status = http_->client_gone() ? kClientGone : status;
  record_->ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun_).count();
  if (record_->status == kClientGone) record_->error.clear();  // nobody is told it
  if (status >= 400 && record_->status != kClientGone) metrics_.count_refusal(status);
}

}  // namespace augur
