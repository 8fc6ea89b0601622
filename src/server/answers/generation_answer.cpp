#include "server/answers/generation_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "server/answers/json_answers.h"
#include "server/fields/bad_request.h"

namespace augur {

namespace {

double seconds_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// Of a request that has failed.
Problem failure_of(const Result& result) {
  if (result.refused) return {400, result.error, result.refused_field};
  return problem_of({result.error_kind.value_or(ErrorKind::Internal), {}}, result.error);
}

}  // namespace

GenerationAnswer::GenerationAnswer(const Served& served, std::shared_ptr<Exchange> exchange, bool stream,
                                   int choices, const AnswerWishes& wishes)
    : served_(served),
      exchange_(std::move(exchange)),
      stream_(stream),
      wishes_(wishes),
      results_(static_cast<std::size_t>(choices)),
      missing_(choices),
      submitted_(Clock::now()),
      progress_(results_.size(), {.last = submitted_}),
      lease_(served.caller.key.account) {}

void GenerationAnswer::submit(std::span<const Request> requests, const SubmitOptions& options) {
  const int choices = static_cast<int>(results_.size() / requests.size());
  served_.record->choices = missing_;
  const char* const many = requests.size() > 1 ? "prompt" : "n";
  if (missing_ > served_.session_options.queue) {
    throw BadRequest(many,
                     fmt::format("it asks for {0} answers at once, but no more than {1} requests may wait: "
                                 "expected at most {1} (--queue)",
                                 missing_, served_.session_options.queue));
  }
  std::int64_t prompt_tokens = 0;
  for (const Request& request : requests) prompt_tokens += choices * std::ssize(request.prompt_tokens);
  lease_.take(missing_, prompt_tokens, many);
  served_.metrics.asked(missing_, requests.front().max_tokens);
  std::vector<Ticket> tickets;
  try {
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const int index = static_cast<int>(i);
      Request one = request_of_choice(requests, choices, index);
      if (one.tpot_ms == 0) one.tpot_ms = served_.options.tpot_ms;
      const std::int64_t prompt = std::ssize(one.prompt_tokens);
      progress_[i].prompt = one.prompt_tokens;
      progress_[i].keep = one.cache_prompt;
      progress_[i].owner = {.tenant = served_.caller.tenant, .salt = one.cache_salt};
      one.on_prefill = [self = shared_from_this(), index, prompt](std::int64_t done, std::int64_t) {
        self->begin_choice(index, prompt);
        self->observe_reading(index, done);
      };
      one.on_round = [self = shared_from_this(), index](const DraftRound& round) {
        self->observe_round(index, round);
      };
      tickets.push_back(served_.session.submit(std::move(one), choice(index, options)));
    }
  } catch (const std::exception& error) {
    for (Ticket& ticket : tickets) ticket.cancel();
    for (std::size_t i = tickets.size(); i < results_.size(); ++i) {
      lease_.give_back(std::ssize(requests[i / static_cast<std::size_t>(choices)].prompt_tokens));
    }
    const bool full = cause_of(std::current_exception()).kind == ErrorKind::QueueFull;
    return write_failure({full ? 429 : 503, error.what(), {}, {{"Retry-After", "1"}}});
  }
  exchange_->when_closed([tickets = std::move(tickets)]() mutable {
    for (Ticket& ticket : tickets) ticket.cancel();
  });
}

SubmitOptions GenerationAnswer::choice(int index, SubmitOptions options) {
  options.client = served_.caller.client;
  options.tenant = served_.caller.tenant;
  if (index == 0) {  // all choices have one grammar
    options.on_warnings = [self = shared_from_this()](const std::vector<std::string>& warnings) {
      tell_warnings(warnings, self->served_, *self->exchange_);
    };
  }
  options.on_token = [self = shared_from_this(), index](const TokenEvent& event) {
    if (event.token >= 0) self->observe_token(index, event);
    if (self->stream_ && !self->failed_) self->take_token(index, event);
    return true;
  };
  options.on_result = [self = shared_from_this(), index](const Result& result) {
    self->end_choice(index, result);
  };
  return options;
}

void GenerationAnswer::begin_choice(int index, std::int64_t prompt_tokens) {
  Progress& progress = progress_[static_cast<std::size_t>(index)];
  if (progress.slot >= 0) return;
  lease_.prompt_begins(std::ssize(progress.prompt));
  progress.begun = Clock::now();
  served_.metrics.began(seconds_between(submitted_, progress.begun));
  progress.slot = served_.slots.occupy(prompt_tokens, progress.owner, index == 0 ? wishes_.slot : -1,
                                       served_.session_options.parallel);
}

void GenerationAnswer::observe_reading(int index, std::int64_t done) {
  Progress& progress = progress_[static_cast<std::size_t>(index)];
  if (progress.written > 0) return;  // a text that was suspended reads itself again
  progress.read_until = Clock::now();
  if (progress.cached < 0) {
    progress.cached = done;
    progress.read_begun = progress.read_until;
  }
  progress.read = done;
  // The last token of a prompt is read with the first one that is written.
  const bool whole = done + 1 >= std::ssize(progress.prompt) && done > progress.cached;
  if (stream_ && wishes_.progress && !failed_ && !whole) take_progress(index);
}

Timings GenerationAnswer::timings_so_far(int index) const {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  const Progress& progress = progress_[static_cast<std::size_t>(index)];
  const std::int64_t cached = std::max<std::int64_t>(0, progress.cached);
  Timings to{.cached = cached, .read = progress.read - cached};
  if (progress.cached >= 0) to.read_ms = Milliseconds(progress.read_until - progress.read_begun).count();
  if (progress.written == 0) return to;
  to.written = progress.written;
  to.write_ms =
      Milliseconds(progress.last - (progress.cached < 0 ? submitted_ : progress.read_until)).count();
  return to;
}

nlohmann::ordered_json GenerationAnswer::progress_json(int index) const {
  const Progress& progress = progress_[static_cast<std::size_t>(index)];
  const Timings timings = timings_so_far(index);
  return {{"total", progress.prompt.size()},
          {"cache", timings.cached},
          {"processed", timings.cached + timings.read},
          {"time_ms", timings.read_ms}};
}

void GenerationAnswer::observe_round(int index, const DraftRound& round) {
  const std::int64_t drafted = std::ssize(round.nodes) - 1;  // without the root
  if (drafted > 0) served_.metrics.drafted(drafted);
  if (served_.trace) served_.trace->note(round, progress_[static_cast<std::size_t>(index)].rounds);
  if (stream_ && wants_rounds() && !failed_) take_round(index, round);
}

void GenerationAnswer::observe_token(int index, const TokenEvent& event) {
  Progress& progress = progress_[static_cast<std::size_t>(index)];
  begin_choice(index, 1);  // a prompt of one token is not read on its own
  served_.slots.decoded(progress.slot);
  const Clock::time_point now = Clock::now();
  const double seconds = seconds_between(progress.last, now);
  if (event.depth > 0) served_.metrics.accepted_token(event.depth);
  if (progress.written > 0) {
    served_.metrics.next_token(seconds);
  } else {
    served_.metrics.first_token(seconds, std::ssize(progress.prompt));
    if (served_.record->first_token_ms == 0) served_.record->first_token_ms = seconds * 1e3;
    progress.first_token = now;
    progress.read = std::ssize(progress.prompt);
    if (stream_ && wishes_.progress && !failed_) take_progress(index);
  }
  lease_.wrote(1);
  ++progress.written;
  progress.last = now;
}

void GenerationAnswer::record_end(int index, const Result& result) {
  Progress& progress = progress_[static_cast<std::size_t>(index)];
  if (progress.slot < 0) lease_.give_back(std::ssize(progress.prompt));
  lease_.answer_ended();
  const bool has_token = progress.written > 0;
  served_.metrics.ended(result,
                        {.whole = seconds_between(submitted_, Clock::now()),
                         .prompt = has_token ? seconds_between(progress.begun, progress.first_token) : 0,
                         .writing = has_token ? seconds_between(progress.first_token, progress.last) : 0,
                         .has_token = has_token});
  if (served_.trace) {
    served_.trace->add_answer(index, result,
                              {.submitted = submitted_,
                               .began = progress.begun,
                               .first_token = progress.first_token,
                               .last_token = progress.last},
                              progress.rounds);
  }
  if (progress.slot >= 0) {
    std::vector<TokenId> text = std::move(progress.prompt);
    text.insert(text.end(), result.tokens.begin(), result.tokens.end());
    if (!progress.keep) text.clear();
    served_.slots.free(progress.slot, std::move(text));
  }
  if (progress.keep) {
    served_.cache_use.add(served_.caller.account,
                          {.prompt = result.prompt_tokens, .cached = result.cached_tokens});
  }
  RequestRecord& record = *served_.record;
  record.prompt_tokens += result.prompt_tokens;
  record.cached_tokens += result.cached_tokens;
  record.completion_tokens += std::ssize(result.tokens);
  record.rounds += result.speculation.calls;
  record.finish_reasons +=
      (record.finish_reasons.empty() ? "" : ",") + std::string(to_string(result.finish_reason));
}

void GenerationAnswer::end_choice(int index, const Result& result) {
  --missing_;
  record_end(index, result);
  if (failed_) return;
  if (result.finish_reason == FinishReason::Error) {
    failed_ = true;
    return write_failure(failure_of(result));
  }
  results_[static_cast<std::size_t>(index)] = result;
  choice_ended(index, result);
  if (missing_ == 0) finish(results_);
}

Request request_of_choice(std::span<const Request> requests, int choices, int index) {
  Request request = requests[static_cast<std::size_t>(index / choices)];
  request.sampling.seed += static_cast<std::uint64_t>(index % choices);
  return request;
}

void tokenize_prompt(const Engine& engine, Request& request) {
  const char* const field = request.messages.empty() ? "prompt" : "messages";
  std::vector<TokenId> tokens;
  try {
    tokens = engine.prompt_tokens(request);
  } catch (const std::runtime_error& error) {
    throw BadRequest(field, error.what());
  }
  if (tokens.empty()) throw BadRequest(field, "is empty");
  const ModelInfo& model = engine.info();
  for (const TokenId token : tokens) {
    if (token < 0 || token >= model.vocab) {
      throw BadRequest(field, fmt::format("token {} is outside the vocabulary of {}", token, model.vocab));
    }
  }
  if (std::ssize(tokens) >= model.context) {
    throw PromptTooLong(field, {.prompt_tokens = std::ssize(tokens), .context = model.context});
  }
  request.prompt_tokens = std::move(tokens);
  request.prompt.clear();
  request.messages.clear();
  request.tools.clear();
}

}  // namespace augur
