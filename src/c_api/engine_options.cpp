#include "c_api/engine_options.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/words.h"
#include "c_api/handles.h"
#include "c_api/own_code.h"
#include "c_api/structs.h"
#include "plan/text.h"

namespace augur::c_api {
namespace {

/// One of an enumeration's words; null and "" are the first of them.
template <Worded Enum>
Enum choice(const char* field, const char* word) {
  return word == nullptr || *word == '\0' ? Enum{} : parse_word<Enum>(field, word);
}

/// What spec_types says, and the fields, which have the names of the plan's.
SpeculationPlan plan_of(const augur_engine_options& from) {
  SpeculationPlan plan = SpeculationPlan::parse(text_or_empty(from.spec_types));
  // 0, NULL and "" leave a field as it is.
  const auto fill = [&](auto SpeculationPlan::*field, auto value) {
    if (value != decltype(value){}) plan.*field = value;
  };
  fill(&SpeculationPlan::draft_max, from.draft_max);
  fill(&SpeculationPlan::draft_min, from.draft_min);
  fill(&SpeculationPlan::draft_p_min, from.draft_p_min);
  fill(&SpeculationPlan::tree_topk, from.tree_topk);
  fill(&SpeculationPlan::tree_depth, from.tree_depth);
  fill(&SpeculationPlan::tree_size, from.tree_size);
  fill(&SpeculationPlan::ngram_min, from.ngram_min);
  fill(&SpeculationPlan::ngram_max, from.ngram_max);
  fill(&SpeculationPlan::exit_layer, from.exit_layer);
  fill(&SpeculationPlan::static_tree, text_or_empty(from.static_tree));
  fill(&SpeculationPlan::draft_vocabulary, text_or_empty(from.draft_vocabulary));
  fill(&SpeculationPlan::verification, choice<Verification>("verification", from.verification));
  if (const std::string text = text_or_empty(from.policy); !text.empty()) {
    plan.policy = read_policy(text, "policy");
  }
  if (from.coupling == 0) plan.coupling = false;
  return plan;
}

/// What goes to the log, and its warnings to those who ask for these alone.
LogCallback log_of(const augur_engine_options& from) {
  if (from.log == nullptr && from.warning == nullptr) return {};
  return [log = from.log, log_user = from.log_user, warning = from.warning, warning_user = from.warning_user](
             LogLevel level, std::string_view text) {
    const std::string line(text);
    if (log != nullptr) log(static_cast<std::int32_t>(level), line.c_str(), log_user);
    if (warning != nullptr && level >= LogLevel::Warning) warning(line.c_str(), warning_user);
  };
}
static_assert(static_cast<int>(LogLevel::Debug) == AUGUR_LOG_DEBUG);
static_assert(static_cast<int>(LogLevel::Info) == AUGUR_LOG_INFO);
static_assert(static_cast<int>(LogLevel::Warning) == AUGUR_LOG_WARNING);

template <class Number>
void set_unless_0(Number& to, Number value) {
  if (value != 0) to = value;
}

}  // namespace

Loading loading_of(const augur_engine_options* given) {
  const augur_engine_options from = complete(given, augur_engine_options_default(), "augur_engine_options");
  Loading loading;
  EngineOptions& to = loading.options;
  to.model = text_or_empty(from.model);
  to.draft_model = text_or_empty(from.draft_model);
  to.threads = from.threads;
  to.pin_threads = from.pin_threads != 0;
  to.context = from.context;
  to.weights = choice<WeightFormat>("weights", from.weights);
  to.draft_weights = choice<DraftWeightFormat>("draft_weights", from.draft_weights);
  to.kv = choice<KvFormat>("kv_type", from.kv_type);
  to.law = choice<ArithmeticLaw>("law", from.law);
  to.datastore = text_or_empty(from.datastore);
  to.cost_cache = text_or_empty(from.cost_cache);
  to.log = log_of(from);
  if (from.progress != nullptr) {
    to.progress = [progress = from.progress, user = from.progress_user](std::string_view what,
                                                                        double fraction) {
      if (progress(std::string(what).c_str(), fraction, user) == 0)
        throw Error(ErrorKind::Cancelled, "{}: loading was aborted by the progress callback", what);
    };
  }
  for (const char* text : array("draft_models", from.draft_models, from.draft_model_count)) {
    to.draft_models.push_back(EngineOptions::NamedDraftModel::parse(text_or_empty(text)));
  }
  to.speculation = plan_of(from);
  to.isa = text_or_empty(from.isa);
  to.chat_template = text_or_empty(from.chat_template);
  to.fallback_template = text_or_empty(from.fallback_template);
  to.template_kwargs = text_or_empty(from.template_kwargs);
  to.template_date = from.template_date != 0;
  set_unless_0(to.template_limits.steps, from.template_steps);
  set_unless_0(to.template_limits.bytes, from.template_bytes);
  set_unless_0(to.grammar_budget.seconds, from.grammar_seconds);
  set_unless_0(to.grammar_budget.bytes, from.grammar_bytes);
  if (from.model_content != nullptr) {
    GivenContent given_content = content_of(from.model_content);
    to.model_content = std::move(given_content.content);
    loading.release = std::move(given_content.release);
  }
  for (const augur_drafter_type* type :
       array("custom_drafters", from.custom_drafters, from.custom_drafter_count))
    to.custom_drafters.push_back(drafter_type_of(type));
  for (const augur_policy_type* type :
       array("custom_policies", from.custom_policies, from.custom_policy_count))
    to.custom_policies.push_back(policy_type_of(type));
  if (from.cancel != nullptr) {
    loading.cancel = held(from.cancel);
    to.cancel = loading.cancel.get();
  }
  return loading;
}

}  // namespace augur::c_api

using namespace augur::c_api;

void augur_engine_options_init(augur_engine_options* options, size_t size) {
  augur_engine_options out{};
  out.coupling = 1;
  write_defaults(out, options, size);
}
