#include "files/mapped_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "support/test_files.h"

namespace augur {
namespace {

using test::expect_error;
using test::TemporaryFolder;

TEST(MappedFile, ShowsTheContent) {
  const TemporaryFolder folder;
  MappedFile file(folder.write("a", "hello"));
  MappedFile moved = std::move(file);
  ASSERT_EQ(moved.bytes().size(), 5u);
  EXPECT_EQ(std::to_integer<char>(moved.bytes()[4]), 'o');
  EXPECT_EQ(moved.path(), (folder / "a").string());
}

TEST(MappedFile, EmptyFile) {
  const TemporaryFolder folder;
  EXPECT_TRUE(MappedFile(folder.write("a", "")).bytes().empty());
}

TEST(MappedFile, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  expect_error([&] { MappedFile(folder / "none"); }, {"none", "No such file"});
  expect_error([&] { MappedFile file(folder.path()); }, {"regular file"});
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  expect_error([&] { MappedFile(folder / "fifo"); },
               {"fifo", "regular file"});  // and does not wait for a writer
}

/// What may not be looked up is not missing: whoever starts the server as another user is told so.
TEST(FileExists, SaysWhatItMayNotLookUp) {
  const TemporaryFolder folder;
  const std::filesystem::path closed = folder / "closed";
  std::filesystem::create_directory(closed);
  EXPECT_FALSE(file_exists(closed / "model.gguf"));
  std::filesystem::permissions(closed, std::filesystem::perms::none);
  const bool root = ::geteuid() == 0;  // who may look anywhere
  ASSERT_EQ(root ? ::seteuid(65534) : 0, 0);
  expect_error([&] { file_exists(closed / "model.gguf"); }, {"model.gguf", "Permission denied"});
  ASSERT_EQ(root ? ::seteuid(0) : 0, 0);
  std::filesystem::permissions(closed, std::filesystem::perms::owner_all);
}

}  // namespace
}  // namespace augur
