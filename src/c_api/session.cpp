#include <utility>

#include "augur/augur.h"
#include "c_api/failure.h"
#include "c_api/handles.h"
#include "c_api/request.h"
#include "c_api/structs.h"
#include "session/session_access.h"

using namespace augur::c_api;

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
