#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "augur/drafter_traits.h"
#include "augur/sampling_options.h"

namespace augur {
inline namespace abi1 {

/// What a drafter is asked for. All spans are valid during the call.
struct DraftRequest {
  std::span<const TokenId> text;  ///< prompt and generated tokens; the last one is the root
  // The drafter's own tree of this round, [nodes]. Node 0 is the root, and a parent precedes its children.
  std::span<const TokenId> tokens;
  std::span<const std::int32_t> parents;  ///< -1: of the root
  std::span<const std::int32_t> depths;   ///< 0: the root's
  /// The nodes to continue: the root alone, or nodes that the drafter has proposed in this round.
  std::span<const std::int32_t> frontier;
  int most_children = 1;  ///< of one node
  int most_nodes = 1;     ///< proposals of this call
};

/// A token that may come next.
struct Proposal {
  /// A node of the frontier. A one-shot drafter may also continue its own proposal number i of the same call:
  /// DraftRequest::tokens.size() + i, with i less than its own number.
  std::int32_t parent = 0;
  TokenId token = -1;
  /// Logarithm of the probability that the token is right if its parent is: finite, at most 0. Policies rank
  /// nodes by the sum along the path; the children of a node may come in any order.
  float log_prob = 0;
};

/// One of the engine's own drafters, which works for a CustomDrafter: it follows the text by itself, and
/// drafts where it is asked to. Belongs to the sequence's CustomDrafter and lives as long.
class BuiltInDrafter {
 public:
  virtual ~BuiltInDrafter() = default;
  virtual const DrafterTraits& traits() const = 0;
  /// Drafts for these nodes of the frontier, as it does by itself, in place of proposals for them: the root,
  /// or nodes that it has added in this round. To be called by CustomDrafter::propose(), at most once in a
  /// call. Error of kind Misuse otherwise.
  virtual void draft(std::span<const std::int32_t> nodes) = 0;
};

/// A drafter of one sequence, written by the engine's user. It cannot change the text, only the speed: what
/// it proposes may be wrong or missing. What it throws, and what it may not propose (an id outside the
/// vocabulary, a log-probability that is none, more than was asked for, a parent that is no earlier node),
/// ends its sequence with an error and no other.
///
/// Threads: all calls come from the thread that decodes (that of generate(), or the Session's own), for one
/// sequence at a time, in the host's environment; those about measuring costs from the thread that makes the
/// engine, calls costs() or opens the Session. A slow drafter delays every request of the batch. Of the
/// engine it may call const functions only.
///
/// Per round: propose(), level by level, as often as the policy asks; then accepted().
class CustomDrafter {
 public:
  virtual ~CustomDrafter() = default;

  /// Asked once, after it has been made. `has_probabilities` is only for drafters that leave every proposal
  /// to a built-in one, because verification by rejection then needs tokens that are drawn; `has_confidence`
  /// likewise. A drafter with a built-in one is one_shot if that one is.
  virtual DrafterTraits traits() const { return {.has_probabilities = false}; }
  /// The sequence is new, or it begins again: its text is told from the start.
  virtual void reset() {}
  /// The next tokens of the text: a part of the prompt, or of what is read again after a pause (`drafted` is
  /// 0), or those of a round, of which the first `drafted` were drafted, by whichever drafter, and accepted.
  /// They may go beyond a stop string or a token that ends the text.
  virtual void accepted(std::span<const TokenId> /*tokens*/, int /*drafted*/) {}
  /// Adds to `out`, which is empty, what it proposes; nothing is fine, and ends the round's drafting.
  virtual void propose(const DraftRequest& request, std::vector<Proposal>& out) = 0;
};

/// What a CustomDrafter is made for. Valid during the call.
class DrafterSetup {
 public:
  virtual ~DrafterSetup() = default;

  std::int64_t context = 0;                     ///< most tokens of the sequence, drafted ones included
  std::int32_t vocab = 0;                       ///< ids are below this
  std::map<std::string, std::string> settings;  ///< SpeculationPlan::drafter_settings "@NAME.KEY", by KEY

  /// Makes one of Engine::drafters() for the sequence: "ngram", "eagle3", "@NAME" of a draft model. At most
  /// one. Error for others.
  virtual BuiltInDrafter& built_in(const std::string& name) = 0;
};

/// A kind of drafter that plans name as "@NAME".
struct CustomDrafterType {
  std::string name;  ///< NAME: letters, digits, '.', '_' and '-'; no draft model has the same
  /// Makes the drafter of one sequence, also of those that are generated to measure the drafter's costs
  /// (`auto` and Session do; they are measured anew in every process). The drafters of an engine may share
  /// what they like: they are called one at a time.
  std::function<std::unique_ptr<CustomDrafter>(DrafterSetup& setup)> make = {};
  std::function<void()> forget = {};  ///< called by Engine::forget(); may be empty
};

}  // namespace abi1
}  // namespace augur
