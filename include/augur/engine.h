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

#include "augur/infill_tokens.h"
#include "augur/logprobs.h"
#include "augur/options.h"
#include "augur/statistics.h"

namespace augur {

/// The library's version, "major.minor.patch".
std::string_view version();

/// A way to draft.
struct SpeculationType {
  std::string name;   ///< as in SpeculationPlan::drafters
  std::string alias;  ///< llama.cpp's name for it; may be empty
  bool needs_draft_model = false;
  bool in_models = false;  ///< where that may be layers of the target's own files
  std::string summary;     ///< what it proposes, in half a line
};
std::vector<SpeculationType> speculation_types();

/// A way to shape drafts.
struct SpeculationPolicy {
  std::string name;     ///< as in SpeculationPlan::policy
  std::string summary;  ///< half a line
};
std::vector<SpeculationPolicy> speculation_policies();

/// One generated token. Text is released as soon as it can no longer change: a piece may hold the text of
/// several tokens, or none (half a character, the possible beginning of a stop string).
struct TokenEvent {
  TokenId token = -1;                       ///< -1: only text that was held back, at the end
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
      0;  ///< of the prompt, that an earlier text began with (SessionOptions::cache_bytes)
  double prompt_ms = 0;
  double decode_ms = 0;
  double tokens_per_second = 0;                     ///< generated tokens over decode_ms
  FinishReason finish_reason = FinishReason::None;  ///< Error in generate_many only
  std::string stop_string;                          ///< that the text ended before; empty: none
  /// What of the request's grammar constrains nothing though it may have been meant to, with its place.
  std::vector<std::string> warnings;
  std::string error;  ///< why, where finish_reason is Error
  /// The request is not as it must be: by a Session, before it begins, or for its biases or what its grammar
  /// takes in the text.
  bool refused = false;
  std::string refused_field;  ///< of a refused request, Grammar::field where its grammar is to blame,
                              ///< "speculative" where its plan asks for too much
  bool expired = false;       ///< by a Session: SubmitOptions::seconds have passed
  bool crowded_out = false;   ///< by a Session: its place in the queue went to a client that has fewer there
  SpeculationStatistics speculation;
};

struct ModelInfo {
  std::string path;
  std::string family;
  std::int32_t vocab = 0;
  std::int64_t context = 0;
  std::int64_t weight_bytes = 0;  ///< read for one token
  std::string weights;            ///< types, the most frequent first: "bf16", "q4_1, q8_0"
  std::string isa;
  int law = 0;  ///< number of the law that the products follow (docs/law.md)
  int threads = 0;
  bool has_chat_template = false;
  /// Tokens that end a text.
  std::vector<TokenId> end_tokens;
  std::string bos_token;  ///< as it is written in a text; empty without one
  std::string eos_token;  ///< the first of those that end a text
  /// The model (its shape and norms, not all of its weights), the formats it computes in, the order of its
  /// sums, this version, and the rotations where these depend on the context: where they are the same, a
  /// request of the same file has the same tokens and log-probabilities on any machine (docs/law.md).
  std::string fingerprint;
};

/// Times in ms of wall time on this machine, as decisions are made by them.
struct MeasuredCosts {
  struct Curve {
    std::vector<int> rows;
    std::vector<double> ms;
  };
  struct Draft {
    std::string name;
    Curve first_level;  ///< by tokens that the drafter catches up with, the newest one included
    Curve level;        ///< every further level, by the nodes that are expanded; empty for one-shot drafters
  };
  /// Of a mixture of experts. By `rows` of a forward: the distinct experts of a layer that they wake.
  struct Experts {
    int count = 0;   ///< of a layer; 0: the model is dense
    int active = 0;  ///< that one row wakes
    int layers = 0;  ///< that have experts
    double ms = 0;   ///< by which one more in one layer makes a forward longer
    std::vector<int> rows;
    std::vector<double> expected;  ///< as learned from the texts so far
    std::vector<double> even;      ///< if every row chose evenly and by itself
  };
  double context = 0;  ///< tokens of text behind which `verify` holds
  Curve verify;        ///< a forward of the target, with its logits
  Experts experts;
  double growth_one = 0;   ///< share of its time by which one row takes longer per token of text
  double growth_many = 0;  ///< the same for 64 rows and more
  double other_ms = 0;     ///< of a step beside drafting and verification
  std::vector<Draft> drafters;
  std::string file;  ///< where they are kept; empty: nowhere
};

/// A loaded model, ready to generate. Errors (a file, an option, a request is not as it must be) are thrown
/// as std::runtime_error with one clear message.
///
/// Threads: the const functions may be called from any thread, several at once, beside each other and beside
/// what follows. generate(), generate_many(), forget() and costs() are for one thread at a time, and for none
/// while a Session uses the engine. Nobody uses it while it is moved or destroyed. Callbacks come on the
/// thread that has called; EngineOptions::warning on the session's, too. They may call the const functions
/// alone.
class Engine {
 public:
  explicit Engine(const EngineOptions& options);
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  Result generate(const Request& request, const TokenCallback& on_token = {});

  static constexpr int kMostParallel = 4096;
  /// Many requests, `parallel` of them in one batch (at most kMostParallel); when one ends, the next takes
  /// its place. Who shares the batch never changes a result. `on_result` gets every result as it ends, by the
  /// request's index; a request that is refused, or for which anything is thrown, gives finish_reason Error,
  /// and the others go on. `on_token` is a TokenCallback for all of them.
  using ResultCallback = std::function<void(std::size_t index, Result result)>;
  using IndexedTokenCallback = std::function<bool(std::size_t index, const TokenEvent&)>;
  void generate_many(std::span<const Request> requests, int parallel, const ResultCallback& on_result,
                     const IndexedTokenCallback& on_token = {});

  /// Forgets what was learnt from the texts so far: outputs that drafters look up, tokens that a draft
  /// vocabulary follows, how often drafts were accepted. The next text is drafted as an engine's first one
  /// is. What was learnt of the machine stays: the costs. Results do not depend on either.
  void forget();

  const ModelInfo& info() const;
  /// What the target and the engine's own drafters cost here; measured now if need be, or if `anew`.
  MeasuredCosts costs(bool anew = false);
  /// As a request's prompt would be, BOS included where the tokenizer says so. `parse_special`: what looks
  /// like a control token is one; otherwise it is text.
  std::vector<TokenId> tokenize(std::string_view text, bool parse_special = true) const;
  /// The same as it stands within a prompt: without a beginning of sequence.
  std::vector<TokenId> tokenize_part(std::string_view text, bool parse_special = true) const;
  std::string detokenize(std::span<const TokenId> tokens, bool show_special = false) const;
  /// What a token stands for within a text: perhaps a part of a character. None for ids that only pad the
  /// vocabulary.
  std::string token_bytes(TokenId token) const;
  /// The text that the request's messages become. Error when there is no chat template.
  std::string render_chat(const Request& request) const;
  /// The text of the chat template that is used (EngineOptions::chat_template); empty: there is none.
  std::string chat_template() const;
  /// As far as the model's file names them (GGUF's do).
  InfillTokens infill_tokens() const;
  /// What requests without a plan of their own are drafted by, all of it said.
  const SpeculationPlan& speculation() const;
  /// What a request can draft with: the names of SpeculationPlan::drafters that are loaded.
  std::vector<std::string> drafters() const;
  /// What the request's prompt becomes.
  std::vector<TokenId> prompt_tokens(const Request& request) const;

 private:
  friend struct EngineAccess;  // the project's own tools
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace augur
