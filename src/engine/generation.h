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

/// What a generation needs of its engine.
struct GenerationContext {
  Model& target;
  const Tokenizer& tokenizer;
  std::span<const TokenId> suppressed;  ///< tokens that are never drawn
  std::int64_t context = 0;
  int parallel = 1;  ///< sequences of the batch that it may be part of
  const Drafters& drafters;
  GrammarCompiler& grammars;
  std::shared_ptr<const CompiledGrammar> grammar;  ///< the request's; null: `grammars` has it
  std::string tenant;                              ///< whose text it is: SubmitOptions::tenant
  std::function<void(SequenceOptions&)> prepare;   ///< sees the sequence's options before it is made
};

/// One request on its way: the sequence, its text, and where both go.
class Generation {
 public:
  /// `plan` is resolved and its drafters are loaded; `policy` is its policy, null for plain decoding. Error
  /// when the request is not as it must be.
  Generation(const GenerationContext& context, const Request& request, std::vector<TokenId> prompt,
             const SpeculationPlan& plan, std::shared_ptr<PolicyModel> policy, const TokenCallback& on_token);
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  Sequence& sequence() { return *sequence_; }
  /// Cancels the sequence when the request's flag says so.
  void poll_cancel();
  /// Releases held-back text and sums up. Once, when the sequence is finished. Rethrows its failure.
  Result finish();

 private:
  [[noreturn]] void rethrow(const std::exception_ptr& failure) const;
  AfterToken take(const EmittedToken& token);
  std::string_view proposer_name(ProposerId proposer) const;
  /// Tells a step to whoever asked for rounds.
  void tell(const StepTrace& step, const RoundCallback& on_round);

  std::shared_ptr<PolicyModel> policy_;      ///< outlives the sequence
  std::vector<std::string> proposer_names_;  ///< by ProposerId
  TokenCallback on_token_;
  const std::atomic<bool>* cancel_;
  TextStream text_stream_;
  std::string text_;
  std::vector<std::string> warnings_;  ///< of its grammar
  std::string grammar_field_;          ///< that it came in
  DraftRound round_;                   ///< the last one that was told
  std::vector<TokenLogprobs> logprobs_;
  std::unique_ptr<Sequence> sequence_;
};

}  // namespace augur
