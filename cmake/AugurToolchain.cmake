# Compiler cache, faster linker, and the warnings that every target of the project is built with.
find_program(AUGUR_CCACHE ccache)
if(AUGUR_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${AUGUR_CCACHE})
endif()
find_program(AUGUR_MOLD mold)
if(AUGUR_MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_link_options(-fuse-ld=mold)
endif()

add_library(augur_flags INTERFACE)
target_compile_options(augur_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
# Contracted multiply-adds would make a result depend on what the compiler happened to fuse.
target_compile_options(augur_flags INTERFACE -ffp-contract=off)
if(AUGUR_WERROR)
  target_compile_options(augur_flags INTERFACE -Werror)
endif()
