#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "augur/error.h"
#include "augur/infill_tokens.h"
#include "augur/logprobs.h"
#include "augur/options.h"
#include "augur/statistics.h"
#include "augur/text_outputs.h"

namespace augur {
struct EngineAccess;
inline namespace abi1 {

/// The library's version, "major.minor.patch".
std::string_view version();

/// A way to draft.
struct SpeculationType {
  std::string name;   ///< as in SpeculationPlan::drafters
  std::string alias;  ///< llama.cpp's name for it; may be empty
  bool needs_draft_model = false;
  bool in_models = false;  ///< with needs_draft_model: layers in the target's own files may serve instead
  std::string summary;     ///< what it proposes, in half a line
};
std::vector<SpeculationType> speculation_types();

/// A way to shape drafts.
struct SpeculationPolicy {
  std::string name;     ///< as in SpeculationPlan::policy
  std::string summary;  ///< half a line
};
std::vector<SpeculationPolicy> speculation_policies();

/// One generated token. Text is released as soon as it can no longer change: a piece may have the text of
/// several tokens, or of none (after an incomplete character, or the possible beginning of a stop string).
struct TokenEvent {
  TokenId token = -1;                       ///< -1: the event has only text, held back until the end
  std::string_view text;                    ///< valid during the callback
  std::string_view proposer;                ///< drafter that proposed the token; empty: the model's own draw
  int depth = 0;                            ///< depth in the drafted tree, from 1; 0: the model's own draw
  const TokenLogprobs* logprobs = nullptr;  ///< where the request asks for them; valid during the callback
};
/// Return false to stop; the token is kept and the result's finish_reason is Cancelled.
using TokenCallback = std::function<bool(const TokenEvent&)>;

struct Result {
  std::string text;
  std::vector<TokenId> tokens;                 ///< generated ids, a final end-of-sequence token included
  std::vector<TokenLogprobs> logprobs;         ///< of `tokens`, where the request asks for them
  std::vector<TokenLogprobs> prompt_logprobs;  ///< the same from the prompt's second token on
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens =
      0;  ///< tokens of the prompt that were found among kept texts (SessionOptions::cache_bytes)
  double prompt_ms = 0;
  double decode_ms = 0;
  double tokens_per_second = 0;                     ///< generated tokens over decode_ms
  FinishReason finish_reason = FinishReason::None;  ///< Error in generate_many only
  std::string stop_string;                          ///< the stop string that ended the text; empty: none
  /// Parts of the request's grammar that have no effect although they may be meant to, each with its place.
  std::vector<std::string> warnings;
  std::string error;  ///< why, if finish_reason is Error; the tokens generated before are in the result, too
  std::optional<ErrorKind> error_kind;  ///< kind of `error`; Cancelled for a request whose time is over
  /// The request is invalid: a Session refused it before it began, or its biases are invalid, or its grammar
  /// exceeded its budget within the text.
  bool refused = false;
  /// of a refused request: Grammar::field if the grammar is the reason, "speculative" if its plan asks for
  /// too much
  std::string refused_field;
  bool expired = false;  ///< by a Session: SubmitOptions::seconds have passed
  /// by a Session: its place in the queue was given to a client with fewer requests there
  bool crowded_out = false;
  SpeculationStatistics speculation;
};

struct ModelInfo {
  std::string path;
  std::string family;
  std::int32_t vocab = 0;
  std::int32_t hidden = 0;  ///< width of a hidden state
  std::int32_t layers = 0;
  std::int64_t context = 0;
  std::int64_t weight_bytes = 0;  ///< bytes of weights that one token reads
  std::string weights;            ///< types of the weights, the most frequent first: "bf16", "q4_1, q8_0"
  std::string isa;
  int law = 0;  ///< number of the law that the products follow (docs/law.md)
  int threads = 0;
  bool has_chat_template = false;
  /// Tokens that end a text.
  std::vector<TokenId> end_tokens;
  std::string bos_token;  ///< as it is written in a text; empty without one
  std::string eos_token;  ///< the first of those that end a text
  /// Identifies the model (its shape and norms, not all of its weights), the number formats, the order of
  /// sums, this version, and rotations that depend on the context. If the fingerprint and the model's file
  /// are equal, a request has the same tokens and log-probabilities on any machine (docs/law.md).
  std::string fingerprint;
};

/// Times in ms of wall time on this machine; `auto` and other policies decide by them.
struct MeasuredCosts {
  struct Curve {
    std::vector<int> rows;
    std::vector<double> ms;
  };
  struct Draft {
    std::string name;
    Curve first_level;  ///< rows: tokens that the drafter must read first, including the newest one
    Curve level;        ///< every further level, rows: expanded nodes; empty for one-shot drafters
  };
  /// Of a mixture of experts: the number of distinct experts of a layer that are used, by the `rows` of a
  /// forward pass.
  struct Experts {
    int count = 0;   ///< of a layer; 0: the model is dense
    int active = 0;  ///< experts that one row uses
    int layers = 0;  ///< that have experts
    double ms = 0;   ///< time that one more expert in one layer adds to a forward pass
    std::vector<int> rows;
    std::vector<double> expected;  ///< as learned from the texts so far
    std::vector<double> even;      ///< if every row chose its experts at random
  };
  double context = 0;  ///< tokens of text before the rows that `verify` was measured with
  Curve verify;        ///< a forward pass of the target, with logits
  Experts experts;
  double growth_one = 0;   ///< relative increase of the time of one row for each token of text
  double growth_many = 0;  ///< the same for 64 rows and more
  double other_ms = 0;     ///< time of a step that is neither drafting nor verification
  std::vector<Draft> drafters;
  std::string file;  ///< where the costs are stored; empty: nowhere
};

/// A loaded model, ready to generate. An invalid file, option or request is thrown as Error, with its kind
/// and one clear message.
///
/// Threads: the const functions may be called from any thread at any time, also at the same time as each
/// other and as the functions below. Those that are not const may be called by one thread at a time, and by
/// none while a Session uses the engine; a second caller gets an Error of kind Misuse at once. Callbacks run
/// on the calling thread; EngineOptions::log also on that of a Session. Callbacks may call only the const
/// functions; other calls give the same Error.
///
/// An engine that has been moved from can be assigned to and destroyed; other calls are an Error of kind
/// Misuse. No function may be called while the engine is moved or destroyed. A running call and an open
/// Session keep the loaded model, which is freed with the last of them. A forked child has none of the
/// engine's threads: there every such call is an Error of kind Misuse, and destroying the engine does not
/// free its memory.
///
/// The caller's rounding mode, treatment of denormal numbers and locale do not change results: calls save and
/// restore them, also around callbacks.
class Engine {
 public:
  explicit Engine(const EngineOptions& options);
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  Result generate(const Request& request, const TokenCallback& on_token = {});

  static constexpr int kMostParallel = 4096;
  /// Runs many requests, `parallel` of them in one batch (at most kMostParallel); when one ends, the next
  /// takes its place. Other requests in the batch never change a result. `on_result` gets every result when
  /// its request ends, with the request's index. A request that is refused, or for which something throws,
  /// has finish_reason Error; the others continue. `on_token` is a TokenCallback for all of them.
  using ResultCallback = std::function<void(std::size_t index, Result result)>;
  using IndexedTokenCallback = std::function<bool(std::size_t index, const TokenEvent&)>;
  void generate_many(std::span<const Request> requests, int parallel, const ResultCallback& on_result,
                     const IndexedTokenCallback& on_token = {});

  // What the model makes of a given text, whose ids are used as they are (tokenize() gives them, with BOS).
  // Nothing of it is kept or learnt. The text has at least one token and no more than ModelInfo::context,
  // which is an Error of kind ContextFull. `cancel`: read between passes of 256 tokens; true ends the call
  // with an Error of kind Cancelled. Must outlive the call. Results do not depend on other texts of a call.

  /// [n, vocab] the model's logits after every token: n * vocab floats, which the form with a callback hands
  /// out in parts instead.
  std::vector<float> logits(std::span<const TokenId> tokens, const std::atomic<bool>* cancel = nullptr);
  void logits(std::span<const TokenId> tokens, const LogitsCallback& on_rows,
              const std::atomic<bool>* cancel = nullptr);
  /// [n, hidden] the residual stream that enters `layer`, from 0 (the embeddings) to ModelInfo::layers (what
  /// the last layer leaves, before the final norm).
  std::vector<float> hidden_states(std::span<const TokenId> tokens, int layer,
                                   const std::atomic<bool>* cancel = nullptr);
  /// [hidden] of the states behind the final norm.
  std::vector<float> embed(std::span<const TokenId> tokens, const EmbedOptions& options = {});
  /// Log-probabilities of the tokens from `from` (at least 1) on.
  TextScore score(std::span<const TokenId> tokens, std::int64_t from = 1,
                  const std::atomic<bool>* cancel = nullptr);
  /// Many texts, which share forward passes. Nothing is read if one of them is invalid.
  void score_many(std::span<const ScoredText> texts, const ScoreCallback& on_score,
                  const std::atomic<bool>* cancel = nullptr);

  /// Forgets what was learnt from texts: earlier outputs for look-ups, the tokens of a `hot` draft
  /// vocabulary, acceptance rates. The next text is drafted like the first text of an engine. Measured costs
  /// of the machine stay. Results depend on neither.
  void forget();

  const ModelInfo& info() const;
  /// Costs of the target and the engine's own drafters on this machine; measured now if they are unknown or
  /// `anew` is set.
  MeasuredCosts costs(bool anew = false);
  /// The tokens that the text would have as a prompt, with BOS if the tokenizer says so. `parse_special`:
  /// text that looks like a control token becomes that token; otherwise it stays text.
  std::vector<TokenId> tokenize(std::string_view text, bool parse_special = true) const;
  /// The same for a part of a prompt: without BOS.
  std::vector<TokenId> tokenize_part(std::string_view text, bool parse_special = true) const;
  std::string detokenize(std::span<const TokenId> tokens, bool show_special = false) const;
  /// The bytes of a token within a text, perhaps a part of a character. Empty for ids that only pad the
  /// vocabulary.
  std::string token_bytes(TokenId token) const;
  /// The request's messages as the chat template writes them. Error if there is no chat template.
  std::string render_chat(const Request& request) const;
  /// The text of the chat template in use (EngineOptions::chat_template); empty: none.
  std::string chat_template() const;
  /// Those that the model's file names (GGUF files do).
  InfillTokens infill_tokens() const;
  /// The complete plan for requests that have none.
  const SpeculationPlan& speculation() const;
  /// Names of the loaded drafters, as a request's SpeculationPlan::drafters may have them.
  std::vector<std::string> drafters() const;
  /// The ids of the request's prompt.
  std::vector<TokenId> prompt_tokens(const Request& request) const;

 private:
  friend struct augur::EngineAccess;  // the project's own tools
  struct Impl;
  explicit Engine(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  ///< a call that runs, and an open Session, hold it, too
};

}  // namespace abi1
}  // namespace augur
