#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "augur/augur.h"
#include "augur/build_info.h"
#include "augur/engine.h"
#include "augur/session.h"
#include "base/error.h"
#include "base/words.h"
#include "engine/engine_access.h"
#include "engine/engine_owner.h"
#include "plan/text.h"
#include "session/session_access.h"

struct augur_engine {
  augur::Engine engine;
};

struct augur_result {
  augur::Result result;
};

struct augur_session {
  augur::Session session;
};

struct augur_ticket {
  augur::Ticket ticket;
};

namespace {

struct Failure {
  std::string message;
  std::int32_t kind = AUGUR_ERROR_NONE;
  std::string field;
};
thread_local Failure last;

static_assert(static_cast<int>(augur::ErrorKind::NotFound) == AUGUR_ERROR_NOT_FOUND);
static_assert(static_cast<int>(augur::ErrorKind::Malformed) == AUGUR_ERROR_MALFORMED);
static_assert(static_cast<int>(augur::ErrorKind::Unsupported) == AUGUR_ERROR_UNSUPPORTED);
static_assert(static_cast<int>(augur::ErrorKind::OutOfMemory) == AUGUR_ERROR_OUT_OF_MEMORY);
static_assert(static_cast<int>(augur::ErrorKind::ContextFull) == AUGUR_ERROR_CONTEXT_FULL);
static_assert(static_cast<int>(augur::ErrorKind::RefusedField) == AUGUR_ERROR_REFUSED_FIELD);
static_assert(static_cast<int>(augur::ErrorKind::Cancelled) == AUGUR_ERROR_CANCELLED);
static_assert(static_cast<int>(augur::ErrorKind::QueueFull) == AUGUR_ERROR_QUEUE_FULL);
static_assert(static_cast<int>(augur::ErrorKind::Misuse) == AUGUR_ERROR_MISUSE);
static_assert(static_cast<int>(augur::ErrorKind::Internal) == AUGUR_ERROR_INTERNAL);

/// Makes what was thrown the thread's last failure. A thread that has no memory for the words has the kind.
void note(const std::exception_ptr& thrown) noexcept {
  last.kind = AUGUR_ERROR_OUT_OF_MEMORY;
  try {
    augur::ErrorCause cause = augur::cause_of(thrown);
    last.message = augur::describe(thrown);
    last.kind = static_cast<std::int32_t>(cause.kind);
    last.field = std::move(cause.field);
  } catch (...) {
    last.message = "out of memory";  // so short that it takes none
  }
}

/// Runs `body`; an exception becomes `failure` and the thread's last error.
template <class Body, class Value = std::invoke_result_t<Body>>
Value guarded(Body&& body, Value failure = {}) noexcept {
  try {
    last.message.clear();
    last.kind = AUGUR_ERROR_NONE;
    last.field.clear();
    return body();
  } catch (...) {
    note(std::current_exception());
  }
  return failure;
}

/// The caller's struct as this version knows it: fields that an older caller lacks keep their defaults.
template <class Options>
Options complete(const Options* given, Options defaults, const char* what) {
  if (given == nullptr) throw augur::Error(augur::ErrorKind::Misuse, "{} is NULL", what);
  if (given->size < sizeof(std::size_t) || given->size > 1 << 16) {
    throw augur::Error(augur::ErrorKind::Misuse, "{}: size is {}; start from its _default function", what,
                       given->size);
  }
  std::memcpy(&defaults, given, std::min(given->size, sizeof(Options)));
  return defaults;
}

/// Writes defaults to a caller's struct of `size` bytes, which may be of an older or a newer version.
template <class Options>
void give(Options defaults, Options* to, std::size_t size) noexcept {
  if (to == nullptr || size < sizeof(std::size_t)) return;
  defaults.size = size;
  std::memset(static_cast<void*>(to), 0, size);
  std::memcpy(static_cast<void*>(to), &defaults, std::min(size, sizeof(Options)));
}

const augur::Result& result_of(const augur_result* result) {
  static const augur::Result none;
  return result == nullptr ? none : result->result;
}

std::string text_or_empty(const char* text) {
  return text == nullptr ? std::string{} : std::string(text);
}

augur::Engine& checked(augur_engine* engine) {
  if (engine == nullptr) throw augur::Error(augur::ErrorKind::Misuse, "the engine is NULL");
  return engine->engine;
}

augur::Session& checked(augur_session* session) {
  if (session == nullptr) throw augur::Error(augur::ErrorKind::Misuse, "the session is NULL");
  return session->session;
}

augur::TokenCallback token_callback(augur_token_callback on_token, void* user) {
  if (on_token == nullptr) return {};
  return [=](const augur::TokenEvent& event) {
    return on_token(event.text.data(), event.text.size(), event.token, user) != 0;
  };
}

/// One of an enumeration's words; null and "" are the first of them.
template <augur::Worded Enum>
Enum choice(const char* field, const char* word) {
  return word == nullptr || *word == '\0' ? Enum{} : augur::parse_word<Enum>(field, word);
}

/// An array of the caller's: null only where it is empty.
template <class T>
std::span<T> array(const char* field, T* first, std::size_t count) {
  if (first == nullptr && count > 0)
    throw augur::Error(augur::ErrorKind::Misuse, "{} is NULL, but its count is {}", field, count);
  return {first, count};
}

/// What spec_types says, and the fields, which have the names of the plan's.
augur::SpeculationPlan plan_of(const augur_engine_options& from) {
  using augur::SpeculationPlan;
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
  fill(&SpeculationPlan::verification, choice<augur::Verification>("verification", from.verification));
  if (const std::string text = text_or_empty(from.policy); !text.empty()) {
    plan.policy = augur::read_policy(text, "policy");
  }
  if (from.coupling == 0) plan.coupling = false;
  return plan;
}

augur::EngineOptions engine_options(const augur_engine_options& from) {
  augur::EngineOptions to;
  to.model = text_or_empty(from.model);
  to.draft_model = text_or_empty(from.draft_model);
  to.threads = from.threads;
  to.pin_threads = from.pin_threads != 0;
  to.context = from.context;
  to.weights = choice<augur::WeightFormat>("weights", from.weights);
  to.draft_weights = choice<augur::DraftWeightFormat>("draft_weights", from.draft_weights);
  to.kv = choice<augur::KvFormat>("kv_type", from.kv_type);
  to.law = choice<augur::ArithmeticLaw>("law", from.law);
  to.datastore = text_or_empty(from.datastore);
  to.cost_cache = text_or_empty(from.cost_cache);
  if (from.warning != nullptr) {
    to.log = [warning = from.warning, user = from.warning_user](augur::LogLevel level,
                                                                std::string_view text) {
      if (level >= augur::LogLevel::Warning) warning(std::string(text).c_str(), user);
    };
  }
  for (const char* text : array("draft_models", from.draft_models, from.draft_model_count)) {
    to.draft_models.push_back(augur::EngineOptions::NamedDraftModel::parse(text_or_empty(text)));
  }
  to.speculation = plan_of(from);
  return to;
}

augur::Request request_of(const augur_request& from) {
  augur::Request to;
  const auto tokens = array("prompt_tokens", from.prompt_tokens, from.prompt_token_count);
  const auto messages = array("messages", from.messages, from.message_count);
  if (from.system != nullptr && (from.chat == 0 || !tokens.empty() || !messages.empty()))
    throw augur::Error(augur::refused("system"),
                       "system goes with chat and prompt: expected it as the first of messages");
  if (from.prompt != nullptr || (tokens.empty() && messages.empty())) {
    if (!tokens.empty() || !messages.empty())
      throw augur::Error(augur::refused("prompt"),
                         "a request has a prompt and prompt_tokens or messages: expected one of them");
    if (from.chat != 0) {
      if (from.system != nullptr) to.messages.push_back({"system", from.system});
      to.messages.push_back({"user", text_or_empty(from.prompt)});
    } else {
      to.prompt = text_or_empty(from.prompt);
    }
  }
  to.prompt_tokens.assign(tokens.begin(), tokens.end());
  for (const augur_message& message : messages)
    to.messages.push_back({text_or_empty(message.role), text_or_empty(message.content)});
  to.max_tokens = from.max_tokens;
  for (const char* stop : array("stop", from.stop, from.stop_count)) to.stop.push_back(text_or_empty(stop));
  to.ignore_eos = from.ignore_eos != 0;
  to.sampling.temperature = from.temperature;
  to.sampling.top_k = from.top_k;
  to.sampling.top_p = from.top_p;
  to.sampling.min_p = from.min_p;
  to.sampling.repetition_penalty = from.repetition_penalty;
  to.sampling.presence_penalty = from.presence_penalty;
  to.sampling.frequency_penalty = from.frequency_penalty;
  to.sampling.penalty_window = from.penalty_window;
  to.sampling.seed = from.seed;
  if (from.grammar != nullptr) {
    const char* const kind = from.grammar_kind == nullptr ? "json-schema" : from.grammar_kind;
    to.grammar = augur::Grammar{.kind = augur::parse_word<augur::GrammarKind>("grammar_kind", kind),
                                .text = from.grammar,
                                .field = "grammar"};
  } else if (from.grammar_kind != nullptr) {
    throw augur::Error(augur::refused("grammar_kind"), "grammar_kind goes with grammar");
  }
  return to;
}

}  // namespace

const char* augur_version(void) {
  return augur::build_info().version.data();
}

const char* augur_commit(void) {
  return augur::build_info().commit.data();
}

const char* augur_last_error(void) {
  return last.message.c_str();
}

int32_t augur_last_error_kind(void) {
  return last.kind;
}

const char* augur_last_error_field(void) {
  return last.field.c_str();
}

void augur_engine_options_init(augur_engine_options* options, size_t size) {
  augur_engine_options out{};
  out.coupling = 1;
  give(out, options, size);
}

void augur_request_init(augur_request* request, size_t size) {
  const augur::SamplingOptions sampling;
  augur_request out{};
  out.max_tokens = -1;
  out.top_p = sampling.top_p;
  out.repetition_penalty = sampling.repetition_penalty;
  out.penalty_window = sampling.penalty_window;
  give(out, request, size);
}

augur_engine* augur_load(const augur_engine_options* options) {
  return guarded([&] {
    const augur_engine_options all =
        complete(options, augur_engine_options_default(), "augur_engine_options");
    return new augur_engine{augur::Engine(engine_options(all))};
  });
}

int32_t augur_free(augur_engine* engine) {
  return guarded(
      [&] {
        if (engine == nullptr) return int32_t{0};
        // Taken for good: whoever comes meanwhile finds it in use.
        augur::EngineOwner& owner = augur::EngineAccess::owner(engine->engine);
        if (owner.process().here()) owner.take(augur::EngineOwner::Use::Call, "augur_free()");
        delete engine;
        return int32_t{0};
      },
      int32_t{-1});
}

int64_t augur_tokenize(augur_engine* engine, const char* text, int32_t* tokens, size_t capacity) {
  return guarded(
      [&] {
        const std::vector<augur::TokenId> all = checked(engine).tokenize(text_or_empty(text));
        const auto out = array("tokens", tokens, capacity);
        std::copy_n(all.begin(), std::min(out.size(), all.size()), out.begin());
        return static_cast<int64_t>(all.size());
      },
      int64_t{-1});
}

int64_t augur_detokenize(augur_engine* engine, const int32_t* tokens, size_t count, char* text,
                         size_t capacity) {
  return guarded(
      [&] {
        const std::string all = checked(engine).detokenize(array("tokens", tokens, count));
        if (const auto out = array("text", text, capacity); !out.empty()) {
          const size_t length = std::min(out.size() - 1, all.size());
          std::copy_n(all.begin(), length, out.begin());
          out[length] = '\0';
        }
        return static_cast<int64_t>(all.size());
      },
      int64_t{-1});
}

augur_result* augur_generate(augur_engine* engine, const augur_request* request,
                             augur_token_callback on_token, void* user) {
  return guarded([&] {
    augur::Engine& checked_engine = checked(engine);
    const augur_request all = complete(request, augur_request_default(), "augur_request");
    return new augur_result{checked_engine.generate(request_of(all), token_callback(on_token, user))};
  });
}

void augur_result_free(augur_result* result) {
  delete result;
}

void augur_session_options_init(augur_session_options* options, size_t size) {
  const augur::SessionOptions defaults;
  give(augur_session_options{.size = 0,
                             .parallel = defaults.parallel,
                             .queue = defaults.queue,
                             .memory = defaults.memory,
                             .cache_bytes = defaults.cache_bytes},
       options, size);
}

augur_session* augur_session_open(augur_engine* engine, const augur_session_options* options) {
  return guarded([&] {
    const augur_session_options defaults = augur_session_options_default();
    const augur_session_options all =
        options == nullptr ? defaults : complete(options, defaults, "augur_session_options");
    return new augur_session{augur::Session(checked(engine), {.parallel = all.parallel,
                                                              .queue = all.queue,
                                                              .memory = all.memory,
                                                              .cache_bytes = all.cache_bytes})};
  });
}

int32_t augur_session_drain(augur_session* session) {
  return guarded(
      [&] {
        checked(session).drain();
        return int32_t{0};
      },
      int32_t{-1});
}

int32_t augur_session_close(augur_session* session) {
  return guarded(
      [&] {
        if (session == nullptr) return int32_t{0};
        augur::SessionAccess::require_other_thread(session->session, "augur_session_close()");
        delete session;
        return int32_t{0};
      },
      int32_t{-1});
}

augur_ticket* augur_submit(augur_session* session, const augur_request* request, int32_t priority,
                           augur_token_callback on_token, void* user) {
  return guarded([&] {
    augur::Session& checked_session = checked(session);
    const augur_request all = complete(request, augur_request_default(), "augur_request");
    augur::SubmitOptions options;
    options.priority = priority;
    options.on_token = token_callback(on_token, user);
    return new augur_ticket{checked_session.submit(request_of(all), std::move(options))};
  });
}

int32_t augur_cancel(augur_ticket* ticket) {
  return guarded(
      [&] {
        if (ticket != nullptr) ticket->ticket.cancel();
        return int32_t{0};
      },
      int32_t{-1});
}

int32_t augur_ended(const augur_ticket* ticket) {
  return guarded([&] { return int32_t{ticket == nullptr || ticket->ticket.ended()}; }, int32_t{-1});
}

augur_result* augur_wait(const augur_ticket* ticket) {
  return guarded([&] {
    if (ticket == nullptr) throw augur::Error(augur::ErrorKind::Misuse, "the ticket is NULL");
    augur::Result result = ticket->ticket.wait();
    std::exception_ptr failure;
    if (result.finish_reason == augur::FinishReason::Error) {
      failure = std::make_exception_ptr(augur::Error(
          {result.error_kind.value_or(augur::ErrorKind::Internal), result.refused_field}, result.error));
      if (result.tokens.empty()) std::rethrow_exception(failure);
    }
    auto* const given = new augur_result{std::move(result)};
    if (failure) note(failure);
    return given;
  });
}

void augur_ticket_free(augur_ticket* ticket) {
  delete ticket;
}

const char* augur_result_text(const augur_result* result) {
  return result_of(result).text.c_str();
}

const int32_t* augur_result_tokens(const augur_result* result, size_t* count) {
  if (count != nullptr) *count = result_of(result).tokens.size();
  return result_of(result).tokens.data();
}

const char* augur_result_finish_reason(const augur_result* result) {
  return augur::to_string(result_of(result).finish_reason).data();
}

double augur_result_tokens_per_second(const augur_result* result) {
  return result_of(result).tokens_per_second;
}

double augur_result_mean_accepted_length(const augur_result* result) {
  return result_of(result).speculation.mean_accepted_length;
}

int64_t augur_result_prompt_tokens(const augur_result* result) {
  return result_of(result).prompt_tokens;
}

int64_t augur_result_cached_tokens(const augur_result* result) {
  return result_of(result).cached_tokens;
}

int64_t augur_result_target_calls(const augur_result* result) {
  return result_of(result).speculation.calls;
}
