#include <cstddef>
#include <cstdint>

#include "fuzz/random_c_calls.h"
#include "support/temporary_folder.h"

/// The bytes choose the calls and their arguments.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace augur::fuzz;
  const augur::testing_support::TemporaryFolder folder;
  Handles handles;
  RandomCalls(Choices({data, size}), handles, AUGUR_SOURCE_DIR "/models/stories260k", folder.path().string())
      .run(10'000);
  RandomCalls::free_all(handles);
  return 0;
}
