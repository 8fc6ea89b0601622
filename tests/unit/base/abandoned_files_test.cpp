#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_file.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

namespace fs = std::filesystem;

TEST(AbandonedFiles, AreRemovedAndNothingElse) {
  const testing_support::TemporaryFolder folder;
  const fs::path left = folder.path() / "left.safetensors";
  for (int i = 0; i < 3; ++i) {
    const TemporaryFile file(left);
    fs::copy_file(file.path(),
                  folder.path() / ("copy." + file.path().filename().string()));  // not removed by it
  }
  const char* const others[] = {"left.safetensors", "notes.tmp",     "a.b.tmp",
                                "a.12345.tmp",      "a.1234567.tmp", ".abcdef.tmp",
                                "a.12-456.tmp",     "a.abcdef.TMP",  "aabcdef.tmp"};
  for (const char* name : others) std::ofstream(folder.path() / name) << name;
  fs::create_directory(folder.path() / "a.folder.tmp");
  fs::create_symlink(left, folder.path() / "a.symlnk.tmp");
  const auto count = [&] {
    return std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator());
  };
  EXPECT_EQ(count(), 3 + 2 + std::ssize(others));
  remove_abandoned_files(folder.path());
  EXPECT_EQ(count(), 2 + std::ssize(others));
  for (const char* name : others) EXPECT_TRUE(fs::exists(folder.path() / name)) << name;
  EXPECT_TRUE(fs::is_symlink(folder.path() / "a.symlnk.tmp"));
  remove_abandoned_files(folder.path() / "none");
}

}  // namespace
}  // namespace augur
