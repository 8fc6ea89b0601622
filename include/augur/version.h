#ifndef AUGUR_VERSION_H
#define AUGUR_VERSION_H
/* The version of these headers, for the preprocessor of C and C++. augur_version() and augur::version() give
 * the version of the library that a program runs with. */
#define AUGUR_VERSION_MAJOR 0
#define AUGUR_VERSION_MINOR 1
#define AUGUR_VERSION_PATCH 0

/* The same as one number: 1002003 is version 1.2.3. */
#define AUGUR_VERSION (AUGUR_VERSION_MAJOR * 1000000 + AUGUR_VERSION_MINOR * 1000 + AUGUR_VERSION_PATCH)

/* The number of the binary interface. Libraries of one number can replace each other under a program that is
 * not recompiled. The number is part of the library's SONAME and of the names of all C++ symbols
 * (augur::abi1), so a program that was built for another number is refused by the loader. */
#define AUGUR_ABI_VERSION 1
#endif
