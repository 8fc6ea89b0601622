#ifndef AUGUR_C_ERROR_H
#define AUGUR_C_ERROR_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Message of this thread's last call that could fail; "" when it did not. Valid until the next such call. */
const char* augur_last_error(void);

/* What was wrong, for programs. */
typedef enum augur_error_kind {
  AUGUR_ERROR_NONE = 0,
  AUGUR_ERROR_NOT_FOUND = 1,     /* a file, a model or a part is not there, or cannot be opened or written */
  AUGUR_ERROR_MALFORMED = 2,     /* a file or a text is not what its format says */
  AUGUR_ERROR_UNSUPPORTED = 3,   /* sound, but of a kind that this version, build or processor does not do */
  AUGUR_ERROR_OUT_OF_MEMORY = 4, /* memory or threads: the system has refused them, or a limit has */
  AUGUR_ERROR_CONTEXT_FULL = 5,  /* a text is longer than the model's context */
  AUGUR_ERROR_REFUSED_FIELD = 6, /* a field of options or of a request has a value that it cannot have */
  AUGUR_ERROR_CANCELLED = 7,
  AUGUR_ERROR_QUEUE_FULL = 8, /* as many requests wait as may: try again later */
  AUGUR_ERROR_MISUSE = 9,     /* a rule of this interface is broken: NULL, threads, callbacks, forks */
  AUGUR_ERROR_INTERNAL = 10   /* anything else */
} augur_error_kind;

/* An augur_error_kind, of the same failure. Later versions may have further ones. */
int32_t augur_last_error_kind(void);
/* The field of the options or of the request that is to blame; "" where there is none, or it is not known. */
const char* augur_last_error_field(void);

#ifdef __cplusplus
}
#endif
#endif
