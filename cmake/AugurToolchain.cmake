# Compiler cache, and the warnings that every target of the project is built with.
find_program(AUGUR_CCACHE ccache)
if(AUGUR_CCACHE)  # which caches what includes a precompiled header only when told not to mind its time stamp
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${AUGUR_CCACHE})
endif()

add_library(augur_flags INTERFACE)
# Literals of more than 64 KiB (embedded files) need not be supported by a compiler; all that are built with do.
target_compile_options(augur_flags INTERFACE -Wall -Wextra -Wpedantic -Wno-overlength-strings -Wshadow
                                             -Wno-missing-field-initializers)
# Contracted multiply-adds would make a result depend on what the compiler happened to fuse.
target_compile_options(augur_flags INTERFACE -ffp-contract=off)
if(AUGUR_WERROR)
  target_compile_options(augur_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(augur_flags INTERFACE -fpch-preprocess)  # for ccache
  # GCC 12 takes short strings that it has inlined from a precompiled header for overruns.
  set(AUGUR_PRECOMPILED_FLAGS -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
endif()
