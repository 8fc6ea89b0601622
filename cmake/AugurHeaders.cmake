# Headers from outside that modules include most, parsed once. nlohmann/json.hpp is not among them: loading it costs the
# files without it more than those with it save. Not where fuzzers are built: that build shows a file which forgot to
# include one.
set(AUGUR_HEADERS <fmt/format.h> <algorithm> <cmath> <filesystem> <functional> <map> <memory> <optional> <span> <string>
                  <unordered_map> <vector>)
if(NOT AUGUR_BUILD_FUZZERS)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/headers.cpp CONTENT "")
  add_library(augur_headers OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/headers.cpp)
  target_link_libraries(augur_headers PRIVATE augur_flags fmt::fmt Threads::Threads)
  target_precompile_headers(augur_headers PRIVATE ${AUGUR_HEADERS})
endif()
