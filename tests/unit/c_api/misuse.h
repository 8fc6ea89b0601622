#ifndef AUGUR_TESTS_MISUSE_H
#define AUGUR_TESTS_MISUSE_H
#ifdef __cplusplus
extern "C" {
#endif

/* Each returns NULL, or what was not as the header says. `model`: the stories model's folder. */
const char* misuse_of_an_engine(const char* model);
const char* misuse_of_a_session(const char* model);

#ifdef __cplusplus
}
#endif
#endif
