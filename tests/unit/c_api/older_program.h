#ifndef AUGUR_TESTS_OLDER_PROGRAM_H
#define AUGUR_TESTS_OLDER_PROGRAM_H
#ifdef __cplusplus
extern "C" {
#endif

/* What a program does that was compiled with older_augur.h, and runs with the library of today. NULL, or what
 * went wrong. `model`: the stories model's folder. `spec_types`: what drafts. `temperature`: 0 is greedy. */
const char* run_older_program(const char* model, const char* spec_types, double temperature);

#ifdef __cplusplus
}
#endif
#endif
