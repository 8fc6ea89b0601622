#pragma once
#include <compare>
#include <map>
#include <string>
#include <vector>

#include "augur/engine.h"
#include "engine/engine_access.h"
#include "lab/suite/method.h"
#include "lab/suite/prompt_set.h"

namespace augur {

/// How every prompt is run, whatever the method.
struct SuiteRequest {
  std::int64_t max_tokens = 128;  ///< of every answer; < 0: as many as the context holds
  bool chat = false;              ///< by the chat template; otherwise turns and answers follow one another
  std::string system;             ///< with chat; empty: the template's own
  std::vector<std::string> stop;  ///< answers end before any of these
  bool ignore_eos = false;
  int turns = 0;  ///< at most; 0: all
  /// Nodes that any policy may have verified in a round, beside the newest token (budget.h); 0: as many as it
  /// wants.
  int budget = 0;
  SamplingOptions sampling;
};

/// One target with all draft models, and draft vocabularies, that the methods name: an engine for each, all
/// on one copy of the target. Methods that keep what they learn have one of their own. One thread at a time.
class Workbench {
 public:
  /// `options`: the target, and the draft model of methods that name none.
  Workbench(const EngineOptions& options, const std::vector<Method>& methods);

  const ModelInfo& info() const { return base_.info(); }
  Engine& base() { return base_; }
  /// The one that the method runs in: of its drafters, or the base.
  Engine& engine(const Method& method);

  /// The method's next conversation begins without what its engine has learnt from texts.
  void forget(const Method& method) { engine(method).forget(); }

  /// Runs the conversation, every turn behind the answers to those before. A method begins it without what
  /// was learnt from other conversations, its own and other methods', unless it keeps that: what comes of it
  /// does not depend on what was run before. `on_turn` gets each result. `on_token` and `prepare` may be
  /// empty. Stops after a turn that was cancelled.
  void run(const Method& method, const SuitePrompt& prompt, const SuiteRequest& how,
           const std::atomic<bool>* cancel, const std::function<void(const Result&)>& on_turn,
           const TokenCallback& on_token = {}, const EngineAccess::Prepare& prepare = {});

 private:
  /// What methods share an engine by.
  struct Drafting {
    std::string model;
    std::string vocabulary;
    std::string keeper;  ///< the method that has the engine for itself; empty: it is shared

    friend auto operator<=>(const Drafting&, const Drafting&) = default;  // NOLINT(modernize-use-nullptr)
  };
  Drafting drafting_of(const Method& method) const;

  Engine base_;
  std::string base_vocabulary_;
  std::map<Drafting, Engine> by_drafting_;
};

}  // namespace augur
