#include "server/traces/request_trace.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "server/request_log.h"

namespace augur {
namespace {

/// Runs what may find no memory.
template <class Call>
void try_to(const Call& call) noexcept {
  try {
    call();
  } catch (...) {
  }
}

}  // namespace

RequestTrace::RequestTrace(SpanExporter& exporter, const TraceContext& context, std::string state,
                           std::string name)
    : exporter_(exporter) {
  spans_.push_back({.trace = context.trace,
                    .id = random_span_id(),
                    .parent = context.span,
                    .state = std::move(state),
                    .name = std::move(name),
                    .kind = Span::Kind::Server,
                    .begin = unix_time(begin_)});
}

std::int64_t RequestTrace::unix_time(Clock::time_point time) const {
  using std::chrono::nanoseconds;
  const auto since_begin = std::chrono::duration_cast<nanoseconds>(time - begin_);
  return std::chrono::duration_cast<nanoseconds>(system_begin_.time_since_epoch()).count() +
         since_begin.count();
}

void RequestTrace::note(const DraftRound& round, AnswerRounds& rounds) const noexcept {
  if (rounds.events.size() == AnswerRounds::kMost) {
    ++rounds.dropped;
    return;
  }
  try_to([&] {
    const auto accepted =
        std::count_if(round.nodes.begin(), round.nodes.end(), [](const auto& node) { return node.accepted; });
    rounds.events.push_back({.name = "round",
                             .at = unix_time(Clock::now()),
                             .attributes = {{"augur.drafted_tokens", round.drafted},
                                            // Without the root.
                                            {"augur.verified_tokens", std::ssize(round.nodes) - 1},
                                            {"augur.accepted_tokens", accepted - 1},
                                            {"augur.draft_ms", round.draft_ms},
                                            {"augur.verify_ms", round.verify_ms}}});
  });
}

/// One within the request's.
Span& RequestTrace::add_span(std::string name, Clock::time_point begin, Clock::time_point end) {
  return spans_.emplace_back(Span{.trace = spans_.front().trace,
                                  .id = random_span_id(),
                                  .parent = spans_.front().id,
                                  .state = spans_.front().state,
                                  .name = std::move(name),
                                  .begin = unix_time(begin),
                                  .end = unix_time(end)});
}

void RequestTrace::add_answer(int index, const Result& result, const Times& times,
                              const AnswerRounds& rounds) noexcept {
  if (index >= kMostAnswers) return;
  constexpr Clock::time_point kNever{};
  const Clock::time_point now = Clock::now();
  const std::int64_t number = index;
  const std::lock_guard lock(mutex_);
  try_to([&] {
    add_span("queue", times.submitted, times.began == kNever ? now : times.began).attributes = {
        {"augur.choice", number}};
    if (times.began == kNever) return;
    add_span("prompt", times.began, times.first_token == kNever ? now : times.first_token).attributes = {
        {"augur.choice", number},
        {"gen_ai.usage.input_tokens", result.prompt_tokens},
        {"augur.cached_tokens", result.cached_tokens}};
    if (times.first_token == kNever) return;
    Span& answer = add_span("answer", times.first_token, times.last_token);
    answer.attributes = {{"augur.choice", number},
                         {"gen_ai.usage.output_tokens", std::int64_t{std::ssize(result.tokens)}},
                         {"gen_ai.response.finish_reasons", std::string(to_string(result.finish_reason))},
                         {"augur.drafter", result.speculation.type},
                         {"augur.rounds", result.speculation.calls},
                         {"augur.drafted_tokens", result.speculation.drafted_tokens},
                         {"augur.accepted_tokens", result.speculation.accepted_tokens}};
    answer.events = rounds.events;
    answer.dropped_events = rounds.dropped;
  });
}

void RequestTrace::finish(const RequestRecord& record, std::string_view model) noexcept {
  const std::lock_guard lock(mutex_);
  try_to([&] {
    Span& whole = spans_.front();
    whole.end = unix_time(Clock::now());
    whole.attributes = {{"http.request.method", record.method},
                        {"url.path", record.path},
                        {"http.response.status_code", std::int64_t{record.status}},
                        {"client.address", record.client},
                        {"augur.request_id", record.id}};
    if (record.choices > 0) {
      const SpanAttributes more = {{"gen_ai.response.model", std::string(model)},
                                   {"gen_ai.usage.input_tokens", record.prompt_tokens},
                                   {"gen_ai.usage.output_tokens", record.completion_tokens},
                                   {"augur.first_token_ms", record.first_token_ms}};
      whole.attributes.insert(whole.attributes.end(), more.begin(), more.end());
    }
    whole.failed = record.status >= 500;
    whole.error = record.error;
  });
  exporter_.take(std::move(spans_));
}

}  // namespace augur
