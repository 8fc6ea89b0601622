#ifndef AUGUR_C_SESSION_H
#define AUGUR_C_SESSION_H
#include <stddef.h>
#include <stdint.h>

#include "augur/c/engine.h"
#include "augur/c/request.h"
#include "augur/c/result.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Many requests at once. A session decodes the requests of many threads in one batch; their tokens are those
 * of augur_generate(). Callbacks run on the session's own threads: they should return soon, and may submit
 * and cancel, but must not wait. augur_session_close() frees it. */
typedef struct augur_session augur_session;
/* One submitted request; augur_ticket_free() frees it. */
typedef struct augur_ticket augur_ticket;

/* The fields of SessionOptions in augur/session.h. */
typedef struct augur_session_options {
  size_t size;
  int32_t parallel; /* requests that are decoded at once (16) */
  int32_t queue;    /* requests that may wait for their turn (1024) */
  int64_t memory; /* bytes for the caches of requests and of kept texts; 0: a quarter of what is available */
  int64_t cache_bytes; /* part of memory for texts kept for later requests (1 GiB) */
  int32_t compilers;   /* threads that compile requests' grammars */
  int32_t draft_nodes; /* most nodes of a step that the plan of one request may ask for; 0: no limit */
  int32_t draft_depth; /* the same of its depth */
  int32_t draft_topk;  /* and of its candidates per node */
  double prompt_share; /* how much new prompts may lengthen a step, as a share of its time */
  double memory_share; /* of what is available, if memory is 0 */
  int64_t priorities_across_clients; /* 1: priorities decide between clients, too */
} augur_session_options;

void augur_session_options_init(augur_session_options* options, size_t size);
static inline augur_session_options augur_session_options_default(void) {
  augur_session_options options;
  augur_session_options_init(&options, sizeof(options));
  return options;
}

/* Uses the engine, which must outlive the session; meanwhile the engine may only tokenise and detokenise.
 * Options may be NULL: defaults. NULL on failure. */
augur_session* augur_session_open(augur_engine* engine, const augur_session_options* options);
/* Accepts no more requests and returns when all have ended: 0, or -1 on failure. */
int32_t augur_session_drain(augur_session* session);
/* The same; requests still running after `seconds` are cancelled. Their number, or -1 on failure. */
int64_t augur_session_drain_for(augur_session* session, double seconds);
/* Cancels running requests, and returns when all have ended: 0. In one of its callbacks: -1, it stays open.
 */
int32_t augur_session_close(augur_session* session);

/* Called once with the request's warnings (augur_result_info), before the first token, if there are any. */
typedef void (*augur_warnings_callback)(const char* const* warnings, size_t count, void* user);

/* The fields of SubmitOptions in augur/session.h. */
typedef struct augur_submit_options {
  size_t size;
  int64_t priority;   /* among the client's requests, the highest begins first */
  const char* client; /* the client with the fewest running requests is next; NULL: "" */
  const char* tenant; /* only requests of one tenant share kept texts; NULL: "" */
  double seconds;     /* from now, after which the request ends with an error and its tokens; 0: no limit */
  augur_warnings_callback on_warnings; /* these three, each of which may be NULL, are called with `user` */
  augur_token_callback on_token;
  augur_result_callback on_result; /* with index 0, after the last token; the callback frees the result */
  void* user;
} augur_submit_options;

void augur_submit_options_init(augur_submit_options* options, size_t size);
static inline augur_submit_options augur_submit_options_default(void) {
  augur_submit_options options;
  augur_submit_options_init(&options, sizeof(options));
  return options;
}
/* Accepts a request and returns at once; NULL on failure, for example if too many wait. Options may be NULL:
 * defaults. The caller frees the ticket, at any time. */
augur_ticket* augur_session_submit(augur_session* session, const augur_request* request,
                                   const augur_submit_options* options);
/* The same with a priority and a callback alone. */
augur_ticket* augur_submit(augur_session* session, const augur_request* request, int32_t priority,
                           augur_token_callback on_token, void* user);
/* Ends the request with the tokens that it has: 0, or -1 on failure. */
int32_t augur_cancel(augur_ticket* ticket);
/* 1: the request has ended; 0: it has not; -1 on failure. */
int32_t augur_ended(const augur_ticket* ticket);
/* Blocks until the request has ended. Returns a new result with each call; NULL if the request failed without
 * a token. If it failed later, the result has the tokens so far and the finish reason "error", and
 * augur_last_error() says why. Must not be called from a callback of its session, which it would wait for. */
augur_result* augur_wait(const augur_ticket* ticket);
/* The request's warnings (augur_result_info), each ended by a line feed; complete before its first token. */
int64_t augur_ticket_warnings(const augur_ticket* ticket, char* text, size_t capacity);
/* Frees the ticket; the request continues. */
void augur_ticket_free(augur_ticket* ticket);

typedef struct augur_session_load {
  size_t size;
  int64_t running;
  int64_t waiting; /* for a place or for memory */
  int64_t steps;
  int64_t preemptions;
  int64_t memory;
  int64_t memory_in_use;
  int64_t memory_running;
  int64_t page_tokens;
  int64_t page_bytes;
  int64_t keeps_texts;
  int64_t cache_bytes_in_use;
  int64_t prompt_tokens;
  int64_t cached_tokens;
  int64_t drafted_tokens;
  int64_t accepted_tokens;
} augur_session_load;
/* The fields of SessionLoad in augur/session.h. 0, or -1 on failure. */
int32_t augur_session_get_load(const augur_session* session, augur_session_load* load);

/* Result of an operation on a text's file. */
typedef struct augur_text_file {
  size_t size;
  int64_t tokens; /* of the text */
  int64_t bytes;  /* of the file */
  double ms;
  const char* error; /* why it failed; "": it has not */
} augur_text_file;
/* Called once, on a thread of the session. */
typedef void (*augur_text_file_callback)(const augur_text_file* file, void* user);
/* The text's owner: the tenant and the cache_salt of its requests. NULL owner: neither. */
typedef struct augur_text_owner {
  size_t size;
  const char* tenant;
  const char* salt;
} augur_text_owner;
/* Writes the longest kept beginning of a text to a file; reads such a file and keeps its text; drops a kept
 * text, its beginnings and what continues it. Each returns at once: 0, or -1 on failure, and then `done` is
 * not called; `done` may be NULL. */
int32_t augur_session_save_text(augur_session* session, const int32_t* tokens, size_t count, const char* path,
                                const augur_text_owner* owner, augur_text_file_callback done, void* user);
int32_t augur_session_load_text(augur_session* session, const char* path, const augur_text_owner* owner,
                                augur_text_file_callback done, void* user);
int32_t augur_session_forget_text(augur_session* session, const int32_t* tokens, size_t count,
                                  const augur_text_owner* owner, augur_text_file_callback done, void* user);
/* Calls `done` on the session's own thread between two steps. 0, or -1 on failure. */
int32_t augur_session_ping(augur_session* session, void (*done)(void* user), void* user);

#ifdef __cplusplus
}
#endif
#endif
