#pragma once
#include <augur/augur.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <vector>

// Random calls of the C interface, in any order and with any arguments that a caller can be said to have:
// NULL, handles that were freed or are of something else, sizes and counts of all sizes, texts that are none.
// Arrays and structs are as long as they say, or say what no array can be long.
namespace augur::fuzz {

/// Where the choices come from: given bytes, until they are used up, or a seed.
class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes), given_(true) {}
  explicit Choices(std::uint64_t seed) : random_(seed) {}

  bool ended() const { return given_ && next_ >= bytes_.size(); }
  /// 0 to count - 1.
  std::size_t below(std::size_t count) { return byte() % count; }
  bool once_in(std::size_t count) { return below(count) == 0; }
  template <class Range>
  const auto& of(const Range& range) {
    return range[below(std::size(range))];
  }

 private:
  std::uint8_t byte() {
    if (!given_) return static_cast<std::uint8_t>(random_() >> 11);
    return next_ < bytes_.size() ? bytes_[next_++] : std::uint8_t{0};
  }

  std::span<const std::uint8_t> bytes_;
  bool given_ = false;
  std::size_t next_ = 0;
  std::mt19937_64 random_;
};

/// Handles that calls have given. Threads may share them, so one in a list may just have been freed.
struct Handles {
  std::mutex mutex;
  std::vector<augur_engine*> engines;
  std::vector<augur_session*> sessions;
  std::vector<augur_ticket*> tickets;
  std::vector<augur_result*> results;
  std::vector<augur_cancel_token*> tokens;
  std::vector<augur_costs*> costs;
  std::vector<void*> stale;  ///< that were freed, of any type
};

/// Ends the program where a call that failed has no kind or no message.
inline void require_kind(bool failed, const char* call) {
  const std::int32_t kind = augur_last_error_kind();
  const bool told =
      kind >= AUGUR_ERROR_NOT_FOUND && kind <= AUGUR_ERROR_INTERNAL && *augur_last_error() != '\0';
  if (!failed || told) return;
  std::fprintf(stderr, "%s failed: kind %d, message '%s'\n", call, kind, augur_last_error());
  std::abort();
}

class RandomCalls {
 public:
  /// `model`: the stories model's folder; `folder`: one to write in.
  RandomCalls(Choices choices, Handles& handles, std::string model, std::string folder)
      : choices_(std::move(choices)),
        handles_(handles),
        model_(std::move(model)),
        folder_(std::move(folder)) {}

  /// At most `calls`. Returns how many were refused.
  int run(int calls) {
    for (int i = 0; i < calls && !choices_.ended(); ++i) call();
    return refusals_;
  }

  /// Frees all that is left.
  static void free_all(Handles& handles) {
    for (augur_session* session : handles.sessions) augur_session_close(session);
    for (augur_ticket* ticket : handles.tickets) augur_ticket_free(ticket);
    for (augur_result* result : handles.results) augur_result_free(result);
    for (augur_cancel_token* token : handles.tokens) augur_cancel_token_free(token);
    for (augur_costs* costs : handles.costs) augur_costs_free(costs);
    for (augur_engine* engine : handles.engines) augur_free(engine);
  }

 private:
  static constexpr std::int32_t kInts[] = {0, 1, 2, 3, -1, 5, 17, 64, INT32_MAX, INT32_MIN};
  static constexpr std::int64_t kLongs[] = {0, 1, 4, -1, 16, 64, 1 << 20, INT64_MAX, INT64_MIN};
  static constexpr double kDoubles[] = {0,
                                        1,
                                        0.5,
                                        0.9,
                                        -1,
                                        1e-9,
                                        1e300,
                                        5e-324,
                                        std::numeric_limits<double>::infinity(),
                                        -std::numeric_limits<double>::infinity(),
                                        std::numeric_limits<double>::quiet_NaN()};
  static constexpr std::size_t kCounts[] = {0, 1, 2, 3, SIZE_MAX, SIZE_MAX / 2, std::size_t{1} << 40};
  static constexpr const char* kTexts[] = {nullptr,
                                           "",
                                           "Once upon a time",
                                           "Lily",
                                           "\xff\xfe\x80",
                                           "{",
                                           "{}",
                                           "[]",
                                           "none",
                                           "draft",
                                           "auto",
                                           "ngram",
                                           "draft,ngram:n-max=4",
                                           "draft:topk=4,depth=5,size=30",
                                           "a=b",
                                           "json-schema",
                                           "regex",
                                           "[0-9]+",
                                           "bf16",
                                           "{\"type\": \"object\"}",
                                           "{{ messages[0].content }}",
                                           "{% for x in y %}",
                                           "user",
                                           "assistant",
                                           "portable"};

  std::string model_text() { return choices_.once_in(8) ? "/no/such/model" : model_; }
  const char* text() {
    if (choices_.once_in(30)) return long_text().c_str();
    return choices_.of(kTexts);
  }
  static const std::string& long_text() {
    static const std::string text(20000, 'a');
    return text;
  }
  std::int32_t integer() { return choices_.of(kInts); }
  std::int64_t longer() { return choices_.of(kLongs); }
  double real() { return choices_.of(kDoubles); }
  bool rarely() { return choices_.once_in(30); }

  /// One that lives, mostly; else one that was freed, or something else, or NULL.
  template <class Handle>
  Handle* handle(std::vector<Handle*> Handles::*of) {
    const std::lock_guard lock(handles_.mutex);
    const std::vector<Handle*>& all = handles_.*of;
    switch (choices_.below(32)) {
      case 0:
        return nullptr;
      case 1:
        return reinterpret_cast<Handle*>(std::uintptr_t{16} * choices_.below(200));
      case 2:
        return reinterpret_cast<Handle*>(&handles_);
      case 3:
      case 4:
        return handles_.stale.empty() ? nullptr : static_cast<Handle*>(choices_.of(handles_.stale));
      default:
        return all.empty() ? nullptr : choices_.of(all);
    }
  }

  /// Calls the handle's function that frees it, which says whether it did.
  template <class Handle, class Free>
  void free_one(std::vector<Handle*> Handles::*of, const char* call, Free&& free) {
    Handle* const freed = handle(of);
    const bool failed = free(freed) != 0;
    refused(failed, call);
    if (failed || freed == nullptr) return;
    const std::lock_guard lock(handles_.mutex);
    std::erase(handles_.*of, freed);
    handles_.stale.push_back(freed);
  }

  /// The same for functions that don't say it.
  template <class Handle>
  void free_silently(std::vector<Handle*> Handles::*of, const char* call, void (*free)(Handle*)) {
    free_one(of, call, [&](Handle* freed) {
      // The last failure stays as it is where there is none now.
      augur_get_build_info(nullptr);
      const std::string before = augur_last_error();
      free(freed);
      return augur_last_error() == before ? 0 : -1;
    });
  }

  template <class Handle>
  void keep(std::vector<Handle*> Handles::*in, Handle* given, const char* call) {
    refused(given == nullptr, call);
    if (given == nullptr) return;
    const std::lock_guard lock(handles_.mutex);
    (handles_.*in).push_back(given);
  }

  void refused(bool failed, const char* call) {
    require_kind(failed, call);
    refusals_ += failed;
  }

  /// An array of elements that there are, or of a count that no array has, or NULL.
  template <class T>
  void array(const std::vector<T>& from, const T*& first, std::size_t& count) {
    count = choices_.of(kCounts);
    first = choices_.once_in(5) ? nullptr : from.data();
    if (first != nullptr && count <= 3) count = std::min(count, from.size());
  }

  /// A struct with something behind it, which has the size that it says or one that none has.
  template <class Struct>
  struct Sized {
    Struct known;
    std::array<unsigned char, 64> behind{};
  };
  template <class Struct>
  void resize(Sized<Struct>& sized) {
    if (!rarely()) return;
    const std::size_t size = sizeof(Struct);
    const std::size_t sizes[] = {0, 1, 8, 16, 24, size - 8, size + 8, size + 64, size - 4, SIZE_MAX, 1 << 17};
    sized.known.size = choices_.of(sizes);
    if (choices_.once_in(2)) sized.behind[choices_.below(8)] = 1;
  }
  template <class Struct>
  Struct* or_null(Sized<Struct>& sized) {
    return choices_.once_in(20) ? nullptr : &sized.known;
  }

  // --- Callbacks: what they get of `user` is this object of the thread that calls back, or has submitted ---
  static std::int32_t go_on(const char*, std::size_t, std::int32_t, void*) { return 1; }
  static std::int32_t stop(const char*, std::size_t, std::int32_t, void*) { return 0; }
  /// What callbacks must not do.
  static std::int32_t break_rules(const char*, std::size_t, std::int32_t, void* user) {
    if (user == nullptr) return 1;  // the struct that has it was said to end before it
    Handles& handles = *static_cast<Handles*>(user);
    augur_engine* engine = nullptr;
    augur_session* session = nullptr;
    augur_ticket* ticket = nullptr;
    {
      const std::lock_guard lock(handles.mutex);
      if (!handles.engines.empty()) engine = handles.engines.back();
      if (!handles.sessions.empty()) session = handles.sessions.back();
      if (!handles.tickets.empty()) ticket = handles.tickets.back();
    }
    const augur_request request = augur_request_default();
    augur_tokenize(engine, "Lily", nullptr, 0);
    if (augur_ended(ticket) == 1) augur_result_free(augur_wait(ticket));
    augur_session_load load;
    load.size = sizeof(load);
    augur_session_get_load(session, &load);
    augur_cancel(ticket);
    augur_result* const result = augur_generate(engine, &request, nullptr, nullptr);
    require_kind(result == nullptr, "augur_generate in a callback");
    augur_result_free(result);
    return 1;
  }
  static std::int32_t on_event(const augur_token_event* event, void*) { return event->depth < 1000; }
  static void on_round(const augur_draft_round*, void*) {}
  static void on_prefill(std::int64_t, std::int64_t, void*) {}
  static void on_result(std::size_t, augur_result* result, void*) { augur_result_free(result); }
  static void on_warnings(const char* const*, std::size_t, void*) {}
  static void on_file(const augur_text_file*, void*) {}
  static void on_ping(void*) {}
  static std::int32_t on_progress(const char*, double, void* user) { return user == nullptr; }
  static void on_warning(const char*, void*) {}

  augur_token_callback callback() {
    constexpr augur_token_callback kAll[] = {nullptr, go_on, stop, break_rules};
    return choices_.of(kAll);
  }

  struct RandomRequest {
    Sized<augur_request> request;
    Sized<augur_thoughts> thoughts;
    std::vector<std::int32_t> tokens;
    std::vector<float> values;
    std::vector<const char*> texts;
    std::vector<augur_message> messages;
    std::vector<augur_tool_call> calls;
  };

  void randomise(RandomRequest& all) {
    augur_request& r = all.request.known;
    r = augur_request_default();
    all.tokens = {1, 403, rarely() ? integer() : 300};
    r.max_tokens = rarely() ? longer() : static_cast<std::int64_t>(choices_.below(6));
    r.prompt = "Once";
    if (rarely()) r.prompt = text();
    if (choices_.once_in(5)) {
      if (!rarely()) r.prompt = nullptr;
      array(all.tokens, r.prompt_tokens, r.prompt_token_count);
    }
    if (choices_.once_in(3)) r.temperature = choices_.once_in(3) ? real() : 0.8;
    r.seed = choices_.below(3);
    if (choices_.once_in(3)) r.on_event = on_event;
    if (choices_.once_in(3)) r.on_round = on_round;
    if (choices_.once_in(3)) r.on_prefill = on_prefill;
    if (choices_.once_in(4)) r.speculation = text();
    if (choices_.once_in(4)) r.logprobs = integer();
    if (rarely()) sample_oddly(r);
    if (rarely()) chat_oddly(all);
    if (rarely()) {
      all.values = {static_cast<float>(real()), 1.0f, -1.0f};
      array(all.tokens, r.bias_tokens, r.bias_count);
      r.bias_values = rarely() ? nullptr : all.values.data();
    }
    if (rarely()) {
      all.texts = {text(), text(), text()};
      array(all.texts, r.stop, r.stop_count);
      array(all.tokens, r.shown_tokens, r.shown_token_count);
    }
    if (rarely()) {
      all.thoughts.known = augur_thoughts_default();
      all.thoughts.known.begin = text();
      all.thoughts.known.end = text();
      all.thoughts.known.again = text();
      all.thoughts.known.begun = integer();
      all.thoughts.known.most_tokens = longer();
      resize(all.thoughts);
      r.thoughts = &all.thoughts.known;
    }
    if (rarely()) r.cancel = handle(&Handles::tokens);
    resize(all.request);
  }

  void sample_oddly(augur_request& r) {
    r.top_k = integer();
    r.top_p = real();
    r.min_p = real();
    r.repetition_penalty = real();
    r.presence_penalty = real();
    r.frequency_penalty = real();
    r.penalty_window = integer();
    r.ignore_eos = integer();
    r.show_special = integer();
    r.tpot_ms = real();
    r.cache_prompt = integer();
    r.cache_salt = text();
    r.sampled_logprobs = integer();
    r.prompt_logprobs = integer();
    if (choices_.once_in(2)) r.grammar = text();
    if (choices_.once_in(2)) r.grammar_kind = text();
  }

  void chat_oddly(RandomRequest& all) {
    augur_request& r = all.request.known;
    if (choices_.once_in(2)) r.prompt = nullptr;
    r.chat = integer();
    r.chat_end = choices_.once_in(4) ? integer() : 0;
    r.tools = text();
    r.template_kwargs = text();
    if (choices_.once_in(3)) r.system = text();
    all.calls.resize(3);
    for (augur_tool_call& call : all.calls) call = {text(), text(), text()};
    all.messages.resize(3);
    for (augur_message& message : all.messages) {
      message = {};
      message.role = text();
      message.content = text();
      message.reasoning = text();
      if (choices_.once_in(3)) message.absence = longer();
      if (choices_.once_in(3)) array(all.calls, message.tool_calls, message.tool_call_count);
    }
    array(all.messages, r.messages, r.message_count);
    const std::size_t sizes[] = {sizeof(augur_message), 0, 16, 8, 3, SIZE_MAX};
    if (rarely()) r.message_size = choices_.of(sizes);
  }

  void load() {
    Sized<augur_engine_options> all;
    augur_engine_options& o = all.known;
    o = augur_engine_options_default();
    const std::string model = model_text();
    o.model = rarely() ? text() : model.c_str();
    if (choices_.once_in(2)) o.draft_model = model_.c_str();
    o.cost_cache = "none";
    o.threads = rarely() ? integer() : 1;
    o.spec_types = choices_.once_in(4) ? text() : "ngram";
    if (rarely()) {
      o.context = longer();
      o.draft_max = integer();
      o.draft_min = integer();
      o.draft_p_min = real();
      o.tree_topk = integer();
      o.tree_depth = integer();
      o.tree_size = integer();
      o.ngram_min = integer();
      o.ngram_max = integer();
      o.exit_layer = integer();
    }
    const char** const texts[] = {
        &o.weights,       &o.verification,      &o.policy,         &o.static_tree, &o.draft_vocabulary,
        &o.datastore,     &o.kv_type,           &o.draft_weights,  &o.law,         &o.isa,
        &o.chat_template, &o.fallback_template, &o.template_kwargs};
    for (const char** field : texts) {
      if (choices_.once_in(20)) *field = text();
    }
    const std::string named = "self=" + model_;
    const std::vector<const char*> drafts = {named.c_str(), text(), named.c_str()};
    if (rarely()) array(drafts, o.draft_models, o.draft_model_count);
    if (rarely()) o.template_steps = longer();
    if (rarely()) o.template_bytes = longer();
    if (rarely()) o.grammar_seconds = real();
    if (rarely()) o.grammar_bytes = longer();
    if (choices_.once_in(3)) o.warning = on_warning;
    if (choices_.once_in(3)) o.progress = on_progress;
    if (rarely()) o.progress_user = this;
    if (rarely()) o.cancel = handle(&Handles::tokens);
    resize(all);
    keep(&Handles::engines, augur_load(or_null(all)), "augur_load");
  }

  void open() {
    Sized<augur_session_options> all;
    augur_session_options& o = all.known;
    o = augur_session_options_default();
    o.memory = rarely() ? longer() : 64 << 20;
    o.cache_bytes = rarely() ? longer() : 1 << 20;
    if (rarely()) o.parallel = integer();
    if (rarely()) o.queue = integer();
    if (rarely()) o.compilers = integer();
    if (rarely()) o.draft_nodes = integer();
    if (rarely()) o.prompt_share = real();
    if (rarely()) o.memory_share = real();
    resize(all);
    keep(&Handles::sessions, augur_session_open(handle(&Handles::engines), or_null(all)),
         "augur_session_open");
  }

  void submit() {
    RandomRequest all;
    randomise(all);
    Sized<augur_submit_options> how;
    how.known = augur_submit_options_default();
    how.known.priority = longer();
    how.known.client = text();
    how.known.tenant = text();
    if (rarely()) how.known.seconds = real();
    how.known.on_token = callback();
    if (choices_.once_in(3)) how.known.on_result = on_result;
    if (choices_.once_in(3)) how.known.on_warnings = on_warnings;
    how.known.user = &handles_;
    resize(how);
    keep(&Handles::tickets,
         augur_session_submit(handle(&Handles::sessions), or_null(all.request), or_null(how)),
         "augur_session_submit");
  }

  void generate() {
    RandomRequest all;
    randomise(all);
    keep(&Handles::results,
         augur_generate(handle(&Handles::engines), or_null(all.request), callback(), &handles_),
         "augur_generate");
  }

  void generate_many() {
    RandomRequest all[3];
    std::vector<const augur_request*> requests;
    for (RandomRequest& one : all) {
      randomise(one);
      requests.push_back(or_null(one.request));
    }
    const augur_request* const* first = nullptr;
    std::size_t count = 0;
    array(requests, first, count);
    refused(augur_generate_many(handle(&Handles::engines), first, count, choices_.once_in(3) ? integer() : 2,
                                rarely() ? nullptr : on_result, &handles_) == -1,
            "augur_generate_many");
  }

  void read_engine() {
    const augur_engine* engine = handle(&Handles::engines);
    std::array<std::int32_t, 64> tokens;
    std::array<char, 64> bytes;
    const std::size_t room = choices_.below(64);
    char* const to = rarely() ? nullptr : bytes.data();
    std::int32_t* const ids = rarely() ? nullptr : tokens.data();
    const std::vector<std::int32_t> given = {integer(), 403, 1};
    const std::int32_t* first = nullptr;
    std::size_t count = 0;
    array(given, first, count);
    RandomRequest all;
    Sized<augur_model_info> info;
    Sized<augur_infill_tokens> infill;
    info.known.size = sizeof(info.known);
    infill.known.size = sizeof(infill.known);
    switch (choices_.below(12)) {
      case 0:
        return refused(augur_tokenize(engine, text(), ids, room) < 0, "augur_tokenize");
      case 1:
        return refused(augur_detokenize(engine, first, count, to, room) < 0, "augur_detokenize");
      case 2: {
        const char* const from = text();
        std::size_t length = from == nullptr ? 0 : std::strlen(from);
        if (rarely()) length = choices_.once_in(2) ? 0 : SIZE_MAX;
        return refused(augur_tokenize_text(engine, from, length, integer(), ids, room) < 0,
                       "augur_tokenize_text");
      }
      case 3:
        return refused(augur_detokenize_tokens(engine, first, count, integer(), to, room) < 0,
                       "augur_detokenize_tokens");
      case 4:
        return refused(augur_token_bytes(engine, integer(), to, room) < 0, "augur_token_bytes");
      case 5:
        randomise(all);
        return refused(augur_render_chat(engine, or_null(all.request), to, room) < 0, "augur_render_chat");
      case 6:
        randomise(all);
        return refused(augur_prompt_tokens(engine, or_null(all.request), ids, room) < 0,
                       "augur_prompt_tokens");
      case 7:
        resize(info);
        return refused(augur_engine_get_info(engine, or_null(info)) < 0, "augur_engine_get_info");
      case 8:
        resize(infill);
        return refused(augur_engine_get_infill_tokens(engine, or_null(infill)) < 0,
                       "augur_engine_get_infill_tokens");
      case 9:
        return refused(augur_engine_speculation(engine, to, room) < 0, "augur_engine_speculation");
      case 10:
        return refused(augur_engine_drafters(engine, to, room) < 0, "augur_engine_drafters");
      default:
        return refused(augur_engine_chat_template(engine, to, room) < 0, "augur_engine_chat_template");
    }
  }

  void read_result() {
    const augur_result* result = handle(&Handles::results);
    Sized<augur_result_info> info;
    Sized<augur_statistics> statistics;
    Sized<augur_token_logprobs> logprobs;
    info.known.size = sizeof(info.known);
    statistics.known.size = sizeof(statistics.known);
    logprobs.known.size = sizeof(logprobs.known);
    const std::size_t index = choices_.of(kCounts);
    switch (choices_.below(5)) {
      case 0: {
        std::size_t count = 0;
        augur_result_tokens(result, choices_.once_in(2) ? nullptr : &count);
        augur_result_text(result);
        augur_result_finish_reason(result);
        augur_result_prompt_tokens(result);
        augur_result_cached_tokens(result);
        augur_result_target_calls(result);
        augur_result_tokens_per_second(result);
        augur_result_mean_accepted_length(result);
        return;
      }
      case 1:
        resize(info);
        return refused(augur_result_get_info(result, or_null(info)) < 0, "augur_result_get_info");
      case 2:
        resize(statistics);
        return refused(augur_result_get_statistics(result, or_null(statistics)) < 0,
                       "augur_result_get_statistics");
      case 3:
        resize(logprobs);
        return refused(augur_result_get_logprobs(result, index, or_null(logprobs)) < 0,
                       "augur_result_get_logprobs");
      default:
        resize(logprobs);
        return refused(augur_result_get_prompt_logprobs(result, index, or_null(logprobs)) < 0,
                       "augur_result_get_prompt_logprobs");
    }
  }

  void use_session() {
    augur_session* session = handle(&Handles::sessions);
    const std::vector<std::int32_t> given = {1, 403, integer()};
    const std::int32_t* first = nullptr;
    std::size_t count = 0;
    array(given, first, count);
    const std::string inside = folder_ + "/text";
    const char* const path = rarely() ? text() : choices_.once_in(5) ? folder_.c_str() : inside.c_str();
    Sized<augur_text_owner> owner{.known = {sizeof(augur_text_owner), text(), text()}};
    resize(owner);
    const augur_text_owner* const of = choices_.once_in(2) ? nullptr : &owner.known;
    const augur_text_file_callback done = choices_.once_in(2) ? nullptr : on_file;
    Sized<augur_session_load> load;
    load.known.size = sizeof(load.known);
    switch (choices_.below(8)) {
      case 0:
        if (choices_.once_in(10)) refused(augur_session_drain(session) < 0, "augur_session_drain");
        return;
      case 1:
        if (choices_.once_in(10))
          refused(augur_session_drain_for(session, real()) < 0, "augur_session_drain_for");
        return;
      case 2:
        return refused(augur_session_save_text(session, first, count, path, of, done, nullptr) < 0,
                       "augur_session_save_text");
      case 3:
        return refused(augur_session_load_text(session, path, of, done, nullptr) < 0,
                       "augur_session_load_text");
      case 4:
        return refused(augur_session_forget_text(session, first, count, of, done, nullptr) < 0,
                       "augur_session_forget_text");
      case 5:
        return refused(augur_session_ping(session, rarely() ? nullptr : on_ping, nullptr) < 0,
                       "augur_session_ping");
      default:
        resize(load);
        return refused(augur_session_get_load(session, or_null(load)) < 0, "augur_session_get_load");
    }
  }

  void use_ticket() {
    augur_ticket* ticket = handle(&Handles::tickets);
    std::array<char, 64> bytes;
    switch (choices_.below(6)) {
      case 0:
        return refused(augur_cancel(ticket) < 0, "augur_cancel");
      case 1:
        return refused(augur_ended(ticket) < 0, "augur_ended");
      case 2:
        return refused(augur_ticket_warnings(ticket, bytes.data(), choices_.below(64)) < 0,
                       "augur_ticket_warnings");
      case 3:
        return free_silently(&Handles::tickets, "augur_ticket_free", augur_ticket_free);
      default:
        return keep(&Handles::results, augur_wait(ticket), "augur_wait");
    }
  }

  void use_costs() {
    augur_costs* costs = handle(&Handles::costs);
    Sized<augur_target_costs> target;
    Sized<augur_draft_costs> draft;
    target.known.size = sizeof(target.known);
    draft.known.size = sizeof(draft.known);
    switch (choices_.below(8)) {
      case 0:
        if (!choices_.once_in(8)) return;
        return keep(&Handles::costs, augur_engine_measure_costs(handle(&Handles::engines), 0),
                    "augur_engine_measure_costs");
      case 1:
        return free_silently(&Handles::costs, "augur_costs_free", augur_costs_free);
      case 2:
        resize(draft);
        return refused(augur_costs_get_drafter(costs, choices_.of(kCounts), or_null(draft)) < 0,
                       "augur_costs_get_drafter");
      default:
        resize(target);
        return refused(augur_costs_get_target(costs, or_null(target)) < 0, "augur_costs_get_target");
    }
  }

  void read_library() {
    Sized<augur_build_info> info;
    Sized<augur_speculation_type> type;
    Sized<augur_speculation_policy> policy;
    info.known.size = sizeof(info.known);
    type.known.size = sizeof(type.known);
    policy.known.size = sizeof(policy.known);
    resize(info);
    resize(type);
    resize(policy);
    refused(augur_get_build_info(or_null(info)) < 0, "augur_get_build_info");
    refused(augur_get_speculation_type(choices_.below(40), or_null(type)) < 0, "augur_get_speculation_type");
    refused(augur_get_speculation_policy(choices_.of(kCounts), or_null(policy)) < 0,
            "augur_get_speculation_policy");
  }

  void describe() {
    const std::string model = model_text();
    const std::string bytes = "GGUF\3";
    Sized<augur_model_content> content{.known = augur_model_content_default()};
    if (choices_.once_in(3)) content.known.descriptor = integer();
    if (choices_.once_in(2)) content.known.bytes = bytes.data();
    content.known.byte_count = choices_.below(bytes.size() + 1);
    resize(content);
    augur_model_description* const description = augur_describe_model(
        rarely() ? text() : model.c_str(), choices_.once_in(2) ? nullptr : &content.known);
    refused(description == nullptr, "augur_describe_model");
    Sized<augur_model_facts> facts;
    Sized<augur_model_file> file;
    facts.known.size = sizeof(facts.known);
    file.known.size = sizeof(file.known);
    resize(facts);
    resize(file);
    refused(augur_model_description_get_facts(description, or_null(facts)) < 0,
            "augur_model_description_get_facts");
    refused(augur_model_description_get_file(description, choices_.of(kCounts), or_null(file)) < 0,
            "augur_model_description_get_file");
    augur_model_description_free(description);
  }

  void use_outputs() {
    augur_engine* const engine = handle(&Handles::engines);
    augur_cancel_token* const cancel = choices_.once_in(2) ? nullptr : handle(&Handles::tokens);
    const std::vector<std::int32_t> given = {1, 403, integer()};
    const std::int32_t* first = nullptr;
    std::size_t count = 0;
    array(given, first, count);
    std::vector<float> numbers(choices_.below(600));
    float* const to = rarely() ? nullptr : numbers.data();
    const std::size_t room = rarely() ? SIZE_MAX : numbers.size();
    Sized<augur_embed_options> embed{.known = augur_embed_options_default()};
    embed.known.pooling = integer();
    embed.known.cancel = cancel;
    resize(embed);
    Sized<augur_text_score> score;
    score.known.size = sizeof(score.known);
    resize(score);
    const auto on_rows = [](std::int64_t, const float*, std::size_t, std::size_t, void*) {};
    switch (choices_.below(5)) {
      case 0:
        return refused(augur_logits(engine, first, count, to, room, cancel) < 0, "augur_logits");
      case 1:
        return refused(
            augur_logits_in_parts(engine, first, count, rarely() ? nullptr : +on_rows, nullptr, cancel) < 0,
            "augur_logits_in_parts");
      case 2:
        return refused(augur_hidden_states(engine, first, count, integer(), to, room, cancel) < 0,
                       "augur_hidden_states");
      case 3:
        return refused(augur_embed(engine, first, count, or_null(embed), to, room) < 0, "augur_embed");
      default:
        return refused(augur_score(engine, first, count, longer(), to, room, or_null(score), cancel) < 0,
                       "augur_score");
    }
  }

  void call() {
    switch (choices_.below(40)) {
      case 0:
        return load();
      case 1:
        return free_one(&Handles::engines, "augur_free", augur_free);
      case 2:
      case 3:
        return open();
      case 4:
        return free_one(&Handles::sessions, "augur_session_close", augur_session_close);
      case 5:
      case 6:
      case 7:
        return submit();
      case 8:
      case 9:
      case 16:
        return generate();
      case 10:
        return generate_many();
      case 11:
        return keep(&Handles::tokens, augur_cancel_token_create(), "augur_cancel_token_create");
      case 12:
        return refused(augur_cancel_token_cancel(handle(&Handles::tokens)) < 0, "augur_cancel_token_cancel");
      case 13:
        return free_silently(&Handles::tokens, "augur_cancel_token_free", augur_cancel_token_free);
      case 14:
        return refused(augur_engine_forget(handle(&Handles::engines)) < 0, "augur_engine_forget");
      case 15:
        return free_silently(&Handles::results, "augur_result_free", augur_result_free);
      case 17:
        return read_library();
      case 20:
        return describe();
      case 21:
        return use_outputs();
      case 18:
      case 19:
        return use_costs();
      default:
        switch (choices_.below(4)) {
          case 0:
            return read_engine();
          case 1:
            return read_result();
          case 2:
            return use_session();
          default:
            return use_ticket();
        }
    }
  }

  Choices choices_;
  Handles& handles_;
  const std::string model_;
  const std::string folder_;
  int refusals_ = 0;
};

}  // namespace augur::fuzz
