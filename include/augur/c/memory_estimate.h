#ifndef AUGUR_C_MEMORY_ESTIMATE_H
#define AUGUR_C_MEMORY_ESTIMATE_H
#include <stddef.h>
#include <stdint.h>

#include "augur/c/engine.h"
#include "augur/c/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of memory that an engine takes: the fields of MemoryEstimate in augur/memory_estimate.h. */
typedef struct augur_memory_estimate {
  size_t size;
  int64_t mapped;        /* files; the system may drop their pages at any time */
  int64_t weights;       /* the model's, which engines of one file share */
  int64_t draft_weights; /* of draft models and heads */
  int64_t workspace;     /* of each engine */
  int64_t token;         /* each token of a text */
  int64_t text;          /* a text of the whole context */
  int64_t texts;         /* as many of them as run at once, at most */
  int64_t kept;          /* texts that a session keeps, at most */
  int64_t loaded;        /* weights + draft_weights + workspace: to load the engine */
  int64_t most;          /* loaded + texts + kept */
} augur_memory_estimate;
/* What augur_load() of the options would take, with `parallel` texts at once. Reads headers, no weights; any
 * thread. 0, or -1 on failure, as augur_load(). */
int32_t augur_estimate_memory(const augur_engine_options* options, int32_t parallel,
                              augur_memory_estimate* estimate);
/* The same with a session; its options may be NULL: defaults. */
int32_t augur_estimate_session_memory(const augur_engine_options* options,
                                      const augur_session_options* session, augur_memory_estimate* estimate);

#ifdef __cplusplus
}
#endif
#endif
