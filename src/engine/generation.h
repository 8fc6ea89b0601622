#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "augur/engine.h"
#include "decode/sequence.h"
#include "decode/text_stream.h"
#include "engine/drafters.h"
#include "grammar/compiler.h"
#include "policy/registry.h"
#include "text/tokenizer.h"

namespace augur {

/// What a generation needs from its engine. The references must outlive the generation.
struct GenerationContext {
  Model& target;
  const Tokenizer& tokenizer;
  std::span<const TokenId> suppressed;  ///< tokens that are never sampled
  std::int64_t context = 0;
  int parallel = 1;  ///< most sequences in the batch that it becomes part of
  const Drafters& drafters;
  GrammarCompiler& grammars;
  std::shared_ptr<const CompiledGrammar> grammar;  ///< the request's; null: it has none, or `grammars`
                                                   ///< compiles it
  std::string tenant;                              ///< owner of the text: SubmitOptions::tenant
  std::function<void(SequenceOptions&)> prepare;   ///< is called with the options before the sequence is made
};

/// One request in progress: its sequence, the text decoded so far, and the callbacks that both go to.
class Generation {
 public:
  /// `plan` is resolved and its drafters are loaded; `policy` is its policy, null for plain decoding. Throws
  /// Error if the request is invalid.
  Generation(const GenerationContext& context, const Request& request, std::vector<TokenId> prompt,
             const SpeculationPlan& plan, std::shared_ptr<PolicyModel> policy, const TokenCallback& on_token);
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  Sequence& sequence() { return *sequence_; }
  /// Cancels the sequence if the request's cancel flag is set.
  void poll_cancel();
  /// Returns the result, with the text that was held back. To be called once, when the sequence has finished.
  /// Rethrows the exception that ended it.
  Result finish();
  /// What there is, in place of finish(), of one that fails; nothing where there is no memory to tell it.
  Result so_far() noexcept;

 private:
  Result result();
  [[noreturn]] void rethrow(const std::exception_ptr& failure) const;
  AfterToken take(const EmittedToken& token);
  std::string_view proposer_name(ProposerId proposer) const;
  /// Passes a step to the request's round callback.
  void tell(const StepTrace& step, const RoundCallback& on_round);

  std::shared_ptr<PolicyModel> policy_;      ///< outlives the sequence
  std::vector<std::string> proposer_names_;  ///< by ProposerId
  TokenCallback on_token_;
  const std::atomic<bool>* cancel_;
  TextStream text_stream_;
  std::string text_;
  std::vector<std::string> warnings_;  ///< of the request's grammar
  std::string grammar_field_;          ///< the field of the request that held the grammar
  DraftRound round_;                   ///< the last one that was passed on
  std::vector<TokenLogprobs> logprobs_;
  std::unique_ptr<Sequence> sequence_;
};

}  // namespace augur
