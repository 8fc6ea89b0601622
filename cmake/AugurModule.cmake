# augur_module(NAME [FUZZED] [DEPENDS modules...] [LIBRARIES targets...])
# One static library augur_NAME from every .cpp below the calling folder. Sources are globbed, so a new
# drafter or policy is one new file. DEPENDS names modules below this one: dependencies point one way.
# FUZZED: what fuzzers read input with; built with their coverage counters where fuzzers are built.
function(augur_module name)
  cmake_parse_arguments(ARG "FUZZED" "" "DEPENDS;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_library(augur_${name} STATIC ${sources})
  target_include_directories(augur_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(augur_${name} PRIVATE augur_flags PUBLIC Threads::Threads ${ARG_LIBRARIES})
  foreach(dependency IN LISTS ARG_DEPENDS)
    if(TARGET augur_${dependency})
      target_link_libraries(augur_${name} PUBLIC augur_${dependency})
    endif()
  endforeach()
  if(ARG_FUZZED AND AUGUR_BUILD_FUZZERS)
    target_compile_options(augur_${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  set_property(GLOBAL APPEND PROPERTY AUGUR_MODULES augur_${name})
endfunction()

# augur_tests(NAME [TEAM] [OWN_HEADERS] [DEPENDS modules...]): one GoogleTest program NAME_tests from every .cpp in the
# folder. OWN_HEADERS: without the headers that are precompiled for all of them.
# TEAM: its tests run models on a team of two threads. ctest then leaves them two cores: the barriers spin, and
# teams that share cores take fifty times as long.
function(augur_tests name)
  cmake_parse_arguments(ARG "TEAM;OWN_HEADERS" "" "DEPENDS" ${ARGN})
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
  set(cores 1)
  if(ARG_TEAM)
    set(cores 2)
  endif()
  gtest_discover_tests(${name}_tests NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST
                       PROPERTIES TIMEOUT 600 PROCESSORS ${cores} LABELS ${name}
                                  ENVIRONMENT "XDG_CACHE_HOME=${CMAKE_BINARY_DIR}/cache")
endfunction()
