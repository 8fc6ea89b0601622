# xgrammar, the library behind src/grammar, compiled from the source that scripts/get_xgrammar.sh fetches, or that a
# release's archive has in third_party/: target augur_xgrammar with its headers, or no such target where AUGUR_GRAMMAR is
# off or the source cannot be had.
option(AUGUR_GRAMMAR "Structured output: JSON schemas, regular expressions and grammars (fetches xgrammar)" ON)
set(AUGUR_XGRAMMAR_SOURCE "" CACHE PATH "Source tree of xgrammar 0.2.8; empty: third_party/, or what scripts/get_xgrammar.sh fetches")
if(NOT AUGUR_GRAMMAR)
  return()
endif()
set(xgrammar ${AUGUR_XGRAMMAR_SOURCE})
if(NOT xgrammar AND EXISTS ${CMAKE_SOURCE_DIR}/third_party/xgrammar)
  set(xgrammar ${CMAKE_SOURCE_DIR}/third_party/xgrammar)
endif()
if(NOT xgrammar)
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/get_xgrammar.sh OUTPUT_VARIABLE xgrammar RESULT_VARIABLE failed
                  ERROR_VARIABLE said ECHO_ERROR_VARIABLE OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed EQUAL 0 AND NOT failed EQUAL 3)  # 3: it can't be had, which the build may do without
    message(FATAL_ERROR "scripts/get_xgrammar.sh: ${said}")
  endif()
endif()
if(NOT EXISTS "${xgrammar}/include/xgrammar/xgrammar.h")
  message(WARNING "The source of xgrammar could not be had (scripts/get_xgrammar.sh needs PyPI): this build has no "
                  "structured output. -DAUGUR_XGRAMMAR_SOURCE=FOLDER names a source tree, -DAUGUR_GRAMMAR=OFF does "
                  "without.")
  return()
endif()

# Its own CMakeLists.txt sets flags for whole programs and makes Python bindings; the library itself is plain.
file(GLOB_RECURSE sources ${xgrammar}/cpp/*.cc)
list(FILTER sources EXCLUDE REGEX "/cpp/tvm_ffi/")
add_library(augur_xgrammar STATIC EXCLUDE_FROM_ALL ${sources})
target_include_directories(augur_xgrammar SYSTEM PUBLIC ${xgrammar}/include ${xgrammar}/3rdparty/dlpack/include
                                                        ${xgrammar}/3rdparty/picojson)
# What it logs comes to src/grammar, where a warning about a schema is an error.
target_compile_definitions(augur_xgrammar PRIVATE XGRAMMAR_ENABLE_CPPTRACE=0 XGRAMMAR_ENABLE_INTERNAL_CHECK=0
                                                  XGRAMMAR_LOG_CUSTOMIZE=1)
target_compile_options(augur_xgrammar PRIVATE -w $<$<CONFIG:Release>:-O2>)
# As four files: half the time that its 28 take, most of which is the standard library's headers again and again.
set_target_properties(augur_xgrammar PROPERTIES CXX_STANDARD 17 UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 9)
set_source_files_properties(${xgrammar}/cpp/json_schema_converter.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
target_link_libraries(augur_xgrammar PUBLIC Threads::Threads)
