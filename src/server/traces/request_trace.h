#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "augur/session.h"
#include "server/traces/span_exporter.h"
#include "server/traces/trace_context.h"

namespace augur {

struct RequestRecord;

/// One answer's rounds, as long as it is being made.
struct AnswerRounds {
  static constexpr std::size_t kMost = 128;  ///< as many as OpenTelemetry's programs keep of a span
  std::vector<SpanEvent> events;
  std::int64_t dropped = 0;  ///< beyond kMost
};

/// The spans of one request: its own, and of each answer `queue`, `prompt` and `answer`, which has its rounds
/// as events. Never a prompt, an answer or a key. Thread-safe, and throws nothing: what there is no memory
/// for is left out.
class RequestTrace {
 public:
  using Clock = std::chrono::steady_clock;
  /// Answers of one request that have spans.
  static constexpr int kMostAnswers = 16;

  /// When what of an answer began; those that never did are {}.
  struct Times {
    Clock::time_point submitted;
    Clock::time_point began;
    Clock::time_point first_token;
    Clock::time_point last_token;
  };

  /// `name`: of the request's span, "POST /v1/completions". `state`: its header `tracestate`. `exporter`
  /// outlives it.
  RequestTrace(SpanExporter& exporter, const TraceContext& context, std::string state, std::string name);
  RequestTrace(const RequestTrace&) = delete;
  RequestTrace& operator=(const RequestTrace&) = delete;

  /// A round of an answer has ended.
  void note(const DraftRound& round, AnswerRounds& rounds) const noexcept;
  void add_answer(int index, const Result& result, const Times& times, const AnswerRounds& rounds) noexcept;
  /// All is over: hands the spans to the exporter.
  void finish(const RequestRecord& record, std::string_view model) noexcept;

 private:
  Span& add_span(std::string name, Clock::time_point begin, Clock::time_point end);
  std::int64_t unix_time(Clock::time_point time) const;

  SpanExporter& exporter_;
  const std::chrono::system_clock::time_point system_begin_ = std::chrono::system_clock::now();
  const Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;
  std::vector<Span> spans_;  ///< the request's is the first
};

}  // namespace augur
