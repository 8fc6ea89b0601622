#include "server/generation_answer.h"

#include <fmt/format.h>

#include <utility>

#include "server/bad_request.h"
#include "server/json_answers.h"

namespace augur {

GenerationAnswer::GenerationAnswer(std::shared_ptr<Exchange> exchange, bool stream, int choices)
    : exchange_(std::move(exchange)),
      stream_(stream),
      results_(static_cast<std::size_t>(choices)),
      missing_(choices) {}

void GenerationAnswer::submit(const Served& served, std::span<const Request> requests,
                              const SubmitOptions& options) {
  const std::size_t choices = results_.size() / requests.size();
  std::vector<Ticket> tickets;
  try {
    for (std::size_t i = 0; i < results_.size(); ++i) {
      Request one = requests[i / choices];
      one.sampling.seed += i % choices;
      if (one.tpot_ms == 0) one.tpot_ms = served.options.tpot_ms;
      if (stream_ && wants_rounds()) {
        one.on_round = [self = shared_from_this(), index = static_cast<int>(i)](const DraftRound& round) {
          if (!self->failed_) self->take_round(index, round);
        };
      }
      tickets.push_back(served.session.submit(std::move(one), choice(static_cast<int>(i), options)));
    }
  } catch (const std::exception& error) {
    for (Ticket& ticket : tickets) ticket.cancel();
    const bool full = dynamic_cast<const QueueFull*>(&error) != nullptr;
    return fail(full ? 429 : 503, error.what(), {{"Retry-After", "1"}});
  }
  exchange_->when_closed([tickets = std::move(tickets)]() mutable {
    for (Ticket& ticket : tickets) ticket.cancel();
  });
}

SubmitOptions GenerationAnswer::choice(int index, SubmitOptions options) {
  if (stream_) {
    options.on_token = [self = shared_from_this(), index](const TokenEvent& event) {
      if (!self->failed_) self->take(index, event);
      return true;
    };
  }
  options.on_result = [self = shared_from_this(), index](const Result& result) { self->end(index, result); };
  return options;
}

void GenerationAnswer::end(int index, const Result& result) {
  --missing_;
  if (failed_) return;
  if (result.finish_reason == FinishReason::Error) {
    failed_ = true;
    return fail(result.refused ? 400 : result.expired ? 504 : 500, result.error, {});
  }
  results_[static_cast<std::size_t>(index)] = result;
  choice_ended(index, result);
  if (missing_ == 0) finish(results_);
}

void GenerationAnswer::fail(int status, std::string_view message, HttpHeaders headers) {
  exchange_->answer(status, error_body(status, message), std::move(headers));
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
    throw BadRequest(field, fmt::format("it has {} tokens, but the context holds {}: expected at most {}",
                                        tokens.size(), model.context, model.context - 1));
  }
  request.prompt_tokens = std::move(tokens);
  request.prompt.clear();
  request.messages.clear();
}

}  // namespace augur
