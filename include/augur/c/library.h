#ifndef AUGUR_C_LIBRARY_H
#define AUGUR_C_LIBRARY_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

const char* augur_version(void);
/* The commit that the library is built from: twelve hexadecimal digits, followed by "-dirty" if files
 * differed; or "unknown". */
const char* augur_commit(void);

/* What the library is made of. All texts live as long as the program. */
typedef struct augur_build_info {
  size_t size;
  const char* version;
  const char* commit;
  const char* compiler; /* "GNU 12.2.0" */
  const char* type;     /* "Release"; "" where none was chosen */
  const char* flags;    /* of the compiler, for all files */
} augur_build_info;
/* 0, or -1 on failure. */
int32_t augur_get_build_info(augur_build_info* info);

/* A way to draft. All texts live as long as the program. */
typedef struct augur_speculation_type {
  size_t size;
  const char* name;  /* as plans have it */
  const char* alias; /* llama.cpp's name for it; may be "" */
  int32_t needs_draft_model;
  int32_t in_models; /* with needs_draft_model: layers in the target's own files may serve instead */
  const char* summary;
} augur_speculation_type;
/* Type number `index`, from 0. 1; 0: there are no more; -1 on failure. */
int32_t augur_get_speculation_type(size_t index, augur_speculation_type* type);

/* A way to shape drafts. All texts live as long as the program. */
typedef struct augur_speculation_policy {
  size_t size;
  const char* name; /* as plans have it */
  const char* summary;
} augur_speculation_policy;
/* Policy number `index`, from 0. 1; 0: there are no more; -1 on failure. */
int32_t augur_get_speculation_policy(size_t index, augur_speculation_policy* policy);

#ifdef __cplusplus
}
#endif
#endif
