#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "augur/session.h"
#include "server/answers/timings_json.h"
#include "server/endpoint.h"
#include "server/fields/answer_fields.h"

namespace augur {

/// What becomes of one HTTP request that generates: its choices come in from the session's thread, as tokens
/// or as results, and go out in the form of an API, which is what derived classes are. Once the exchange has
/// an answer that ends it, nothing more comes.
class GenerationAnswer : public std::enable_shared_from_this<GenerationAnswer> {
 public:
  GenerationAnswer(const Served& served, std::shared_ptr<Exchange> exchange, bool stream, int choices,
                   const AnswerWishes& wishes = {});
  virtual ~GenerationAnswer() = default;
  GenerationAnswer(const GenerationAnswer&) = delete;
  GenerationAnswer& operator=(const GenerationAnswer&) = delete;

  /// Submits each of the requests once for each of its choices, as many as there are in all over their
  /// number: choice i of a request has its seed plus i, and is followed by those of the next one. BadRequest
  /// where more are asked for than may ever wait. Answers 429 or 503 where the session does not take them. A
  /// client that goes away cancels all of them. Keeps this alive until they have ended.
  void submit(std::span<const Request> requests, const SubmitOptions& options);
  void submit(const Request& request, const SubmitOptions& options) {
    submit(std::span(&request, 1), options);
  }
  /// `options` with the callbacks by which choice `index` comes in.
  SubmitOptions choice(int index, SubmitOptions options);

 protected:
  // Called on the session's thread, one at a time.
  /// A token of choice `index`, where the answer is streamed.
  virtual void take_token(int index, const TokenEvent& event) = 0;
  /// What became of a round of choice `index`, after its tokens, where the answer is streamed and asks for
  /// it.
  virtual void take_round(int /*index*/, const DraftRound& /*round*/) {}
  virtual bool wants_rounds() const { return false; }
  /// The prompt of choice `index` is read further, where the answer is streamed and asks for it.
  virtual void take_progress(int /*index*/) {}
  /// Choice `index` has ended, well.
  virtual void choice_ended(int /*index*/, const Result& /*result*/) {}
  /// All have ended, well: results by choice.
  virtual void finish(const std::vector<Result>& results) = 0;
  /// A request has failed. For APIs whose streams end then in a way of their own.
  virtual void write_failure(const Problem& problem) { exchange_->fail(problem); }

  bool streamed() const { return stream_; }
  Exchange& exchange() const { return *exchange_; }
  const AnswerWishes& wishes() const { return wishes_; }
  /// What choice `index` has taken so far.
  Timings timings_so_far(int index) const;
  /// How far its prompt is read: llama.cpp's `prompt_progress`.
  nlohmann::ordered_json progress_json(int index) const;
  /// Its place in the batch, or the last one that it had; -1: it has not begun.
  int slot_of(int index) const { return progress_[static_cast<std::size_t>(index)].slot; }

 private:
  using Clock = std::chrono::steady_clock;
  /// How far a choice is.
  struct Progress {
    Clock::time_point last;    ///< its last token, or its submission
    std::int64_t written = 0;  ///< tokens
    std::int64_t cached = -1;  ///< of the prompt, taken over; -1: nothing is known
    std::int64_t read = 0;     ///< of the prompt, those included
    Clock::time_point read_begun = {};
    Clock::time_point read_until = {};
    int slot = -1;  ///< -1: it has not begun
    std::vector<TokenId> prompt = {};
    bool keep = true;  ///< Request::cache_prompt
    TextOwner owner = {};
  };

  void begin_choice(int index, std::int64_t prompt_tokens);
  void observe_reading(int index, std::int64_t done);
  void observe_token(int index);
  void end_choice(int index, const Result& result);
  void record_end(int index, const Result& result);

  const Served served_;
  const std::shared_ptr<Exchange> exchange_;
  const bool stream_;
  const AnswerWishes wishes_;
  std::vector<Result> results_;
  int missing_;
  bool failed_ = false;
  Clock::time_point submitted_;
  std::vector<Progress> progress_;
};

/// Of a prompt, or messages, the tokens take the place. BadRequest, naming "prompt" or "messages", for one
/// that cannot be, or that leaves no room in the context.
void tokenize_prompt(const Engine& engine, Request& request);

}  // namespace augur
