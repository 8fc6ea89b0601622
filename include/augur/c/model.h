#ifndef AUGUR_C_MODEL_H
#define AUGUR_C_MODEL_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A GGUF file that is not given by its path: bytes in memory, or an open file. One of the two. */
typedef struct augur_model_content {
  size_t size;
  const void* bytes; /* used where they lie; they do not change as long as an engine made of them lives */
  size_t byte_count;
  int64_t descriptor; /* of a regular file, open for reading; may be closed after the call. -1, the default:
                       * none */
  /* Called once with `user` when the last engine made of the bytes has ended, on the thread that ends it.
   * After a call that fails, and by calls that load nothing, it is not called. May be NULL: the bytes outlive
   * the engines. */
  void (*release)(void* user);
  void* user;
} augur_model_content;

void augur_model_content_init(augur_model_content* content, size_t size);
static inline augur_model_content augur_model_content_default(void) {
  augur_model_content content;
  augur_model_content_init(&content, sizeof(content));
  return content;
}

/* What a model's files say of it, without its weights being read; augur_model_description_free() frees it. */
typedef struct augur_model_description augur_model_description;
/* Of a Hugging Face folder or GGUF file, a model or a draft head. With `content`, which may be NULL, of that;
 * `path` then is only its name, and may be NULL. Takes milliseconds; any thread. NULL on failure: where there
 * is nothing, or nothing that is a model. What is wrong within is a problem of the description. */
augur_model_description* augur_describe_model(const char* path, const augur_model_content* content);
void augur_model_description_free(augur_model_description* description);

/* The fields of ModelDescription in augur/model_description.h. */
typedef struct augur_model_facts {
  size_t size;
  const char* path;  /* as it was given */
  int64_t gguf;      /* 1: a GGUF file; 0: a Hugging Face folder, or a part of one */
  int64_t has_shape; /* 0: a part of a model, perhaps a draft head; the next eleven are then "" and 0 */
  const char* family;
  int64_t layers;
  int64_t hidden;
  int64_t intermediate; /* width of the feed-forward */
  int64_t heads;
  int64_t kv_heads;
  int64_t head_dim;
  int64_t vocab;
  int64_t context;         /* tokens that the model was made for */
  int64_t tied_embeddings; /* 1: the embedding is the last projection, too */
  int64_t tensors;
  int64_t parameters;        /* numbers in all tensors */
  int64_t weight_bytes;      /* of all tensors, as they are stored */
  const char* tokenizer;     /* what it is made from; "": there is none */
  const char* chat_template; /* its source; "": there is none */
  const char* head_type;     /* of a draft head, as plans have it; "": it is none */
  const char* head_target;   /* the model that the head says it was made for; "": it does not */
  const char* own_drafter;   /* type of the model's own layers that only draft; "": it has none */
} augur_model_facts;
/* 0, or -1 on failure. */
int32_t augur_model_description_get_facts(const augur_model_description* description,
                                          augur_model_facts* facts);

/* A file with weights. */
typedef struct augur_model_file {
  size_t size;
  const char* path;
  int64_t tensors;
  int64_t bytes; /* of these */
} augur_model_file;
/* Number `index` of its files, from 0. 1; 0: there are no more; -1 on failure. So the others below. */
int32_t augur_model_description_get_file(const augur_model_description* description, size_t index,
                                         augur_model_file* file);

typedef struct augur_weight_type {
  size_t size;
  const char* name; /* "BF16", "Q4_K", ... */
  int64_t tensors;
  int64_t bytes;
} augur_weight_type;
/* Of its weight_types; the one with the most bytes first. */
int32_t augur_model_description_get_weight_type(const augur_model_description* description, size_t index,
                                                augur_weight_type* type);

typedef struct augur_model_metadata {
  size_t size;
  const char* key;
  const char* text; /* of arrays with more than 16 items the number and the type */
} augur_model_metadata;
/* What a GGUF file says beside its tensors, in the order of the keys. */
int32_t augur_model_description_get_metadata(const augur_model_description* description, size_t index,
                                             augur_model_metadata* metadata);

typedef struct augur_model_problem {
  size_t size;
  int64_t kind; /* AUGUR_ERROR_... */
  const char* text;
} augur_model_problem;
/* Of the problems: what could not be found out, because files are malformed or not supported there. */
int32_t augur_model_description_get_problem(const augur_model_description* description, size_t index,
                                            augur_model_problem* problem);

#ifdef __cplusplus
}
#endif
#endif
