#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/policy_cache.h"
#include "augur/engine.h"
#include "decode/sequence.h"
#include "decode/text_stream.h"
#include "draft/registry.h"
#include "io/tokenizer.h"

namespace augur {

/// A drafter type with its weights loaded, by its canonical name.
struct LoadedDrafter {
  std::string name;
  std::unique_ptr<DrafterModel> model;
};

/// What a generation needs of its engine.
struct GenerationContext {
  Model& target;
  const Tokenizer& tokenizer;
  std::int64_t context = 0;
  std::span<const LoadedDrafter> drafters;
  PolicyCache& policies;
  std::function<void(SequenceOptions&)> prepare;  ///< sees the sequence's options before it is made
};

/// Error naming the first value out of range, or a type that is unknown or not loaded.
void check_speculation(const SpeculationOptions& options, std::span<const LoadedDrafter> drafters);

/// The drafter types that a list asks for, canonical, without "none".
std::vector<std::string> drafter_names(const SpeculationOptions& options);

/// One request on its way: the sequence, its text, and where both go.
class Generation {
 public:
  /// Error when the request is not as it must be.
  Generation(const GenerationContext& context, const Request& request, std::vector<TokenId> prompt,
             const SpeculationOptions& speculation, const TokenCallback& on_token);
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  Sequence& sequence() { return *sequence_; }
  /// Cancels the sequence when the request's flag says so.
  void poll_cancel();
  /// Releases held-back text and sums up. Once, when the sequence is finished. Rethrows its failure.
  Result finish();

 private:
  AfterToken take(const EmittedToken& token);

  std::shared_ptr<PolicyModel> policy_;      ///< outlives the sequence
  std::vector<std::string> proposer_names_;  ///< by ProposerId
  TokenCallback on_token_;
  const std::atomic<bool>* cancel_;
  TextStream text_stream_;
  std::string text_;
  std::unique_ptr<Sequence> sequence_;
};

}  // namespace augur
