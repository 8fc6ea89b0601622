#include "cli/bus_error.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "files/mapped_file.h"
#include "support/temporary_folder.h"

namespace augur::cli {
namespace {

TEST(BusError, AFileThatBecameShorterEndsTheProgramWithOneLine) {
  const testing_support::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "weights";
  std::ofstream(path) << std::string(1 << 16, 'x');
  EXPECT_EXIT(
      {
        report_bus_errors();
        const MappedFile file(path);
        std::filesystem::resize_file(path, 0);
        const volatile std::byte first = file.bytes()[0];
        (void)first;
      },
      testing::ExitedWithCode(1), "^augur: a file became shorter while it was in use[^\n]*\n$");
}

}  // namespace
}  // namespace augur::cli
