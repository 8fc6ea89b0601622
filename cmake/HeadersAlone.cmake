# Target headers_alone: headers compiled by themselves, twice in a row. Precompiled headers and the order of includes
# hide one that lacks an include; this does not (.ci/run headers). Left out is what CI's job `address` compiles so
# anyhow: its build has no precompiled headers for the engine, and a source that includes a header before all else
# shows that it stands alone.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} src/*.h include/*.h lab/*.h)
# These need what the build has not: libtorch, xgrammar.
if(NOT AUGUR_BUILD_TRAINING)
  list(FILTER headers EXCLUDE REGEX "^lab/train/")
  list(FILTER headers EXCLUDE REGEX "^lab/train_cli/")
endif()
if(NOT TARGET augur_xgrammar)
  list(FILTER headers EXCLUDE REGEX "/xgrammar/")
endif()

file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} src/*.cpp)
list(FILTER sources EXCLUDE REGEX "^src/cli/")  # which no test of that job links
foreach(source IN LISTS sources)
  file(STRINGS ${CMAKE_SOURCE_DIR}/${source} first REGEX "^#include" LIMIT_COUNT 1)
  if(first MATCHES "\"(.*)\"")
    list(REMOVE_ITEM headers src/${CMAKE_MATCH_1} include/${CMAKE_MATCH_1})
  endif()
endforeach()

set(alone)
foreach(header IN LISTS headers)
  string(REGEX REPLACE "^(src|include)/" "" included ${header})
  string(REPLACE "/" "_" name ${header})
  set(source ${CMAKE_BINARY_DIR}/headers_alone/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${included}\"\n#include \"${included}\"\n")
  # What is included by files for one instruction set only.
  if(header MATCHES "^src/kernels/cpu/.*(512|amx|256)")
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
      "-mavx2;-mfma;-mf16c;-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx512cd;-mavx512bf16;-mavx512vnni;-mamx-tile;-mamx-bf16;-Wno-unused-function")
  elseif(header MATCHES "^src/kernels/cpu/")
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-Wno-unused-function")
  endif()
  list(APPEND alone ${source})
endforeach()
add_library(headers_alone OBJECT EXCLUDE_FROM_ALL ${alone})
target_link_libraries(headers_alone PRIVATE augur_flags)
target_compile_options(headers_alone PRIVATE -fsyntax-only)
target_include_directories(headers_alone PRIVATE ${CMAKE_SOURCE_DIR})
get_property(modules GLOBAL PROPERTY AUGUR_MODULES)
foreach(module IN LISTS modules)  # linking them would build them
  target_include_directories(headers_alone PRIVATE $<TARGET_PROPERTY:${module},INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_definitions(headers_alone PRIVATE $<TARGET_PROPERTY:${module},INTERFACE_COMPILE_DEFINITIONS>)
endforeach()
