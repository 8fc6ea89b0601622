# augur_unite(TARGET MOST files...): compiles each folder's files together, MOST at a time, where most of a file's time
# is in headers that its neighbours read, too (nlohmann/json.hpp, CLI11). A file that is added moves no other folder's. Not
# where fuzzers are built: that build shows a file which forgot to include something.
option(AUGUR_UNITE "Compile files that share heavy headers together: quicker from nothing, slower behind a small change" ON)
function(augur_unite target most)
  if(NOT AUGUR_UNITE)
    return()
  endif()
  # By groups, CMake leaves files that are in none as they are.
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A class of a source file may have members of its unnamed namespace; GCC takes the file for a header here.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
  foreach(file IN LISTS ARGN)
    cmake_path(GET file PARENT_PATH folder)
    list(APPEND folders ${folder})
    list(APPEND ${folder}_files ${file})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE name)
    string(MAKE_C_IDENTIFIER ${name} name)
    list(LENGTH ${folder}_files count)
    math(EXPR groups "(${count} + ${most} - 1) / ${most}")
    set(index 0)
    foreach(file IN LISTS ${folder}_files)
      math(EXPR group "${index} * ${groups} / ${count}")
      math(EXPR index "${index} + 1")
      set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${name}_${group})
    endforeach()
  endforeach()
endfunction()

# augur_module(NAME [FUZZED] [OWN_HEADERS] [UNITED] [DEPENDS modules...] [LIBRARIES targets...])
# One static library augur_NAME from every .cpp below the calling folder. Sources are globbed, so a new
# drafter or policy is one new file. DEPENDS names the modules whose headers it includes: dependencies point
# one way, and scripts/check_layers.py holds the includes against them. A module of lab/ is included by its path
# from the root ("lab/suite/runner.h"), which modules of src/ do not have among their include directories.
# FUZZED: what fuzzers read input with; built with their coverage counters where fuzzers are built. OWN_HEADERS: without
# the headers that are precompiled for all of them. UNITED: see augur_unite.
function(augur_module name)
  cmake_parse_arguments(ARG "FUZZED;OWN_HEADERS;UNITED" "" "DEPENDS;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(augur_${name} STATIC ${sources})
  set_property(GLOBAL APPEND PROPERTY AUGUR_MODULES augur_${name})
  target_include_directories(augur_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${CMAKE_SOURCE_DIR}/lab/")
    target_include_directories(augur_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  endif()
  list(TRANSFORM ARG_DEPENDS PREPEND augur_)
  target_link_libraries(augur_${name} PRIVATE augur_flags PUBLIC Threads::Threads ${ARG_LIBRARIES} ${ARG_DEPENDS})
  if(ARG_FUZZED AND AUGUR_BUILD_FUZZERS)
    target_compile_options(augur_${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(TARGET augur_headers AND NOT ARG_OWN_HEADERS)
    target_compile_options(augur_${name} PRIVATE ${AUGUR_PRECOMPILED_FLAGS})
    target_precompile_headers(augur_${name} REUSE_FROM augur_headers)
  endif()
  if(ARG_UNITED)
    augur_unite(augur_${name} 8 ${sources})
  endif()
endfunction()

# augur_tests(NAME [TEAM] [OWN_HEADERS] [UNITED] [FILTER tests] [DEPENDS modules...]): one GoogleTest program NAME_tests
# from every .cpp in the folder. OWN_HEADERS: without the headers that are precompiled for all of them. UNITED: see
# augur_unite; four at a time, as a test that is being written is compiled often. FILTER: ctest runs only these, in
# GoogleTest's notation.
# TEAM: its tests run models on a team of two threads. ctest then leaves them two cores: the barriers spin, and
# teams that share cores take fifty times as long.
function(augur_tests name)
  cmake_parse_arguments(ARG "TEAM;OWN_HEADERS;UNITED" "FILTER" "DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${name}_tests ${sources})
  target_link_libraries(${name}_tests PRIVATE augur_test_flags)
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(${name}_tests PRIVATE augur_${dependency})
  endforeach()
  if(NOT ARG_OWN_HEADERS)
    target_precompile_headers(${name}_tests REUSE_FROM augur_test_headers)
  endif()
  if(ARG_UNITED)
    augur_unite(${name}_tests 4 ${sources})
  endif()
  set(cores 1)
  if(ARG_TEAM)
    set(cores 2)
  endif()
  set(filter)
  if(ARG_FILTER)
    set(filter TEST_FILTER ${ARG_FILTER})
  endif()
  gtest_discover_tests(${name}_tests NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST ${filter}
                       PROPERTIES TIMEOUT 600 PROCESSORS ${cores} LABELS ${name}
                                  ENVIRONMENT "XDG_CACHE_HOME=${CMAKE_BINARY_DIR}/cache")
endfunction()

# augur_tests_on_device(NAME FILTER): the module's tests that FILTER names once more, with their models on the slow
# device of tests/support.
function(augur_tests_on_device name filter)
  target_sources(${name}_tests PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/on_slow_device.cpp)
  target_link_libraries(${name}_tests PRIVATE augur_slow_device)
  gtest_discover_tests(${name}_tests NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST TEST_PREFIX slow_device.
                       TEST_LIST ${name}_tests_on_device TEST_FILTER ${filter}
                       PROPERTIES TIMEOUT 600 PROCESSORS 2 LABELS device
                                  FAIL_REGULAR_EXPRESSION "its models are on the host"
                                  ENVIRONMENT AUGUR_TEST_DEVICE=slow  # of a list only the first would arrive
                                  ENVIRONMENT_MODIFICATION "XDG_CACHE_HOME=set:${CMAKE_BINARY_DIR}/cache")
endfunction()

# augur_embed(MODULE NAME files...): NAME.inc, a string literal of the files' content, for the sources of the module.
# The target augur_embedded is all of them, for tools that read sources without building them.
add_custom_target(augur_embedded)
function(augur_embed module name)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]" OUTPUT_VARIABLE files)
  list(JOIN files "|" joined)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/embedded/${name}.inc)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DIN=${joined} -DOUT=${out} -P ${CMAKE_SOURCE_DIR}/cmake/Embed.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/Embed.cmake
    VERBATIM)
  add_custom_target(augur_embedded_${name} DEPENDS ${out})
  add_dependencies(augur_embedded augur_embedded_${name})
  target_sources(augur_${module} PRIVATE ${out})
  target_include_directories(augur_${module} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/embedded)
endfunction()
