#include <memory>
#include <thread>
#include <utility>

#include "augur/augur.h"
#include "c_api/failure.h"
#include "c_api/given_result.h"
#include "c_api/handles.h"
#include "c_api/request.h"
#include "c_api/session_options.h"
#include "c_api/structs.h"
#include "session/session_access.h"

using namespace augur::c_api;

namespace {

augur::SubmitOptions options_of(const augur_submit_options& from) {
  augur::SubmitOptions to;
  to.priority = static_cast<int>(std::clamp<int64_t>(from.priority, INT32_MIN, INT32_MAX));
  to.client = text_or_empty(from.client);
  to.tenant = text_or_empty(from.tenant);
  to.seconds = from.seconds;
  if (from.on_warnings != nullptr) {
    to.on_warnings = [call = from.on_warnings, user = from.user](const std::vector<std::string>& warnings) {
      call(pointers_to(warnings).data(), warnings.size(), user);
    };
  }
  if (from.on_result != nullptr) {
    to.on_result = [call = from.on_result, user = from.user](const augur::Result& result) {
      call(0, give<augur_result>(std::make_shared<GivenResult>(result)), user);
    };
  }
  return to;
}

augur::TextOwner owner_of(const augur_text_owner* given) {
  if (given == nullptr) return {};
  const augur_text_owner from = complete(given, augur_text_owner{}, "augur_text_owner");
  return {.tenant = text_or_empty(from.tenant), .salt = text_or_empty(from.salt)};
}

augur::Session::TextFileCallback text_file_callback(augur_text_file_callback done, void* user) {
  if (done == nullptr) return {};
  return [done, user](const augur::TextFile& file) {
    const augur_text_file given = {.size = sizeof(augur_text_file),
                                   .tokens = file.tokens,
                                   .bytes = file.bytes,
                                   .ms = file.ms,
                                   .error = file.error.c_str()};
    done(&given, user);
  };
}

std::vector<augur::TokenId> tokens_of(const int32_t* tokens, size_t count) {
  const auto given = array("tokens", tokens, count);
  return {given.begin(), given.end()};
}

}  // namespace

void augur_submit_options_init(augur_submit_options* options, size_t size) {
  write_defaults(augur_submit_options{}, options, size);
}

augur_session* augur_session_open(augur_engine* engine, const augur_session_options* options) {
  return guarded([&] {
    const auto used = held(engine);
    return give<augur_session>(std::make_shared<augur::Session>(*used, options_of(options)));
  });
}

int32_t augur_session_drain(augur_session* session) {
  return status([&] { held(session)->drain(); });
}

int64_t augur_session_drain_for(augur_session* session, double seconds) {
  return number([&] { return held(session)->drain(seconds); });
}

int32_t augur_session_close(augur_session* session) {
  return status([&] {
    if (session == nullptr) return;
    const auto closed = held(session);
    augur::SessionAccess::require_other_thread(*closed, "augur_session_close()");
    take(session);
    // No call finds it any more, and those that have found it return soon, because nothing is left to wait
    // for.
    closed->drain(0);
    while (closed.use_count() > 1) std::this_thread::yield();
  });
}

augur_ticket* augur_session_submit(augur_session* session, const augur_request* request,
                                   const augur_submit_options* options) {
  return guarded([&] {
    const auto used = held(session);
    Asked asked = asked_by(request);
    const augur_submit_options all =
        options == nullptr ? augur_submit_options_default()
                           : complete(options, augur_submit_options_default(), "augur_submit_options");
    augur::SubmitOptions how = options_of(all);
    how.on_token = token_callback(all.on_token, all.user, std::move(asked.on_event));
    return give<augur_ticket>(
        std::make_shared<augur::Ticket>(used->submit(std::move(asked.request), std::move(how))));
  });
}

augur_ticket* augur_submit(augur_session* session, const augur_request* request, int32_t priority,
                           augur_token_callback on_token, void* user) {
  augur_submit_options options = augur_submit_options_default();
  options.priority = priority;
  options.on_token = on_token;
  options.user = user;
  return augur_session_submit(session, request, &options);
}

int32_t augur_session_get_load(const augur_session* session, augur_session_load* load) {
  return status([&] {
    const augur::SessionLoad from = held(session)->load();
    answer({.size = 0,
            .running = static_cast<int64_t>(from.running),
            .waiting = static_cast<int64_t>(from.waiting),
            .steps = from.steps,
            .preemptions = from.preemptions,
            .memory = from.memory,
            .memory_in_use = from.memory_in_use,
            .memory_running = from.memory_running,
            .page_tokens = from.page_tokens,
            .page_bytes = from.page_bytes,
            .keeps_texts = from.keeps_texts,
            .cache_bytes_in_use = from.cache_bytes_in_use,
            .prompt_tokens = from.prompt_tokens,
            .cached_tokens = from.cached_tokens,
            .drafted_tokens = from.drafted_tokens,
            .accepted_tokens = from.accepted_tokens},
           load, "augur_session_load");
  });
}

int32_t augur_session_save_text(augur_session* session, const int32_t* tokens, size_t count, const char* path,
                                const augur_text_owner* owner, augur_text_file_callback done, void* user) {
  return status([&] {
    held(session)->save_text(tokens_of(tokens, count), text_or_empty(path), text_file_callback(done, user),
                             owner_of(owner));
  });
}

int32_t augur_session_load_text(augur_session* session, const char* path, const augur_text_owner* owner,
                                augur_text_file_callback done, void* user) {
  return status([&] {
    held(session)->load_text(text_or_empty(path), text_file_callback(done, user), owner_of(owner));
  });
}

int32_t augur_session_forget_text(augur_session* session, const int32_t* tokens, size_t count,
                                  const augur_text_owner* owner, augur_text_file_callback done, void* user) {
  return status([&] {
    held(session)->forget_text(tokens_of(tokens, count), text_file_callback(done, user), owner_of(owner));
  });
}

int32_t augur_session_ping(augur_session* session, void (*done)(void* user), void* user) {
  return status([&] {
    const auto used = held(session);
    if (done == nullptr) throw augur::Error(augur::ErrorKind::Misuse, "done is NULL");
    used->ping([done, user] { done(user); });
  });
}
