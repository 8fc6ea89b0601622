#include "lab/suite/workbench.h"

#include <algorithm>
#include <utility>

namespace augur {
namespace {

EngineOptions target_only(EngineOptions options) {
  options.speculation.drafters = {"none"};
  return options;
}

Request request_for(const SuiteRequest& how) {
  Request request;
  request.max_tokens = how.max_tokens;
  request.stop = how.stop;
  request.ignore_eos = how.ignore_eos;
  request.sampling = how.sampling;
  return request;
}

}  // namespace

Workbench::Workbench(const EngineOptions& options, const std::vector<Method>& methods)
    : base_(target_only(options)), base_vocabulary_(options.speculation.draft_vocabulary) {
  for (const Method& method : methods) {
    const Drafting drafting = drafting_of(method);
    if (drafting == Drafting{"", base_vocabulary_, ""} || by_drafting_.count(drafting) > 0) continue;
    EngineOptions own = options;
    if (!method.draft_model.empty()) own.draft_model = method.draft_model;
    own.speculation = method.speculation;  // its types say what the files are to be used as
    by_drafting_.emplace(drafting, EngineAccess::sibling(base_, own));
  }
}

Workbench::Drafting Workbench::drafting_of(const Method& method) const {
  return {method.draft_model,
          method.plain() || method.peer() ? base_vocabulary_ : method.speculation.draft_vocabulary,
          method.keeps_learnt ? method.text : std::string()};
}

Engine& Workbench::engine(const Method& method) {
  const auto own = by_drafting_.find(drafting_of(method));
  return own == by_drafting_.end() ? base_ : own->second;
}

void Workbench::run(const Method& method, const SuitePrompt& prompt, const SuiteRequest& how,
                    const std::atomic<bool>* cancel, const std::function<void(const Result&)>& on_turn,
                    const TokenCallback& on_token, const EngineAccess::Prepare& prepare) {
  if (!method.keeps_learnt) forget(method);
  Request request = request_for(how);
  request.cancel = cancel;
  request.speculation = method.speculation;
  if (how.chat && !how.system.empty()) request.messages.push_back({"system", how.system});
  const std::size_t turns = how.turns > 0 ? std::min(prompt.turns.size(), static_cast<std::size_t>(how.turns))
                                          : prompt.turns.size();
  for (std::size_t t = 0; t < turns; ++t) {
    if (how.chat) {
      request.messages.push_back({"user", prompt.turns[t]});
    } else {
      request.prompt += (t == 0 ? "" : "\n\n") + prompt.turns[t];
    }
    const Result result =
        EngineAccess::generate(engine(method), request, on_token, [&](SequenceOptions& options) {
          if (how.budget > 0) options.most_nodes = how.budget;
          if (prepare) prepare(options);
        });
    on_turn(result);
    if (result.finish_reason == FinishReason::Cancelled) return;
    if (how.chat) {
      request.messages.push_back({"assistant", result.text});
    } else {
      request.prompt += result.text;
    }
  }
}

}  // namespace augur
