#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/engine_access.h"
#include "augur/engine.h"
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
  SamplingOptions sampling;
};

/// One target with all draft models, and draft vocabularies, that the methods name: an engine for each, all
/// on one copy of the target. One thread at a time.
class Workbench {
 public:
  /// `options`: the target, and the draft model of methods that name none.
  Workbench(const EngineOptions& options, const std::vector<Method>& methods);

  const ModelInfo& info() const { return base_.info(); }
  Engine& base() { return base_; }
  /// The one that the method runs in: of its drafters, or the base.
  Engine& engine(const Method& method);

  /// Runs the conversation, every turn behind the answers to those before. `on_turn` gets each result.
  /// `on_token` and `prepare` may be empty. Stops after a turn that was cancelled.
  void run(const Method& method, const SuitePrompt& prompt, const SuiteRequest& how,
           const std::atomic<bool>* cancel, const std::function<void(const Result&)>& on_turn,
           const TokenCallback& on_token = {}, const EngineAccess::Prepare& prepare = {});

 private:
  using Drafting = std::pair<std::string, std::string>;  ///< draft model and vocabulary
  Drafting drafting_of(const Method& method) const;

  Engine base_;
  std::string base_vocabulary_;
  std::map<Drafting, Engine> by_drafting_;
};

/// What a method's cells are filed under: its text, and the sizes and dates of its files (draft model,
/// vocabulary).
std::string method_key(const Method& method, const std::string& default_draft_model);
std::string prompt_key(const std::string& suite, const SuitePrompt& prompt);

}  // namespace augur
