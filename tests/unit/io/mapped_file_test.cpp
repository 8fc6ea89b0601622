#include "io/mapped_file.h"

#include <sys/stat.h>

#include "base/atomic_file.h"
#include "unit/io/test_files.h"

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

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  const TemporaryFolder folder;
  {
    AtomicFile abandoned(folder / "a");
    abandoned.write("half");
    EXPECT_FALSE(file_exists(folder / "a"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  folder.write("a", "old");
  AtomicFile file(folder / "a");
  file.write("ne");
  file.write("w");
  EXPECT_EQ(test::read_file(folder / "a"), "old");
  file.commit();
  EXPECT_EQ(test::read_file(folder / "a"), "new");
  expect_error([&] { AtomicFile unwritable(folder / "no" / "such"); }, {"no/such", "cannot create"});
}

TEST(AtomicFile, ReportsAFullDisk) {
  if (!file_exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  // The temporary name lies beside the target, so a link stands in for the full disk.
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/full", folder / fmt::format("a.{}.tmp", getpid()));
  AtomicFile file(folder / "a");
  expect_error([&] { file.write("x"); }, {"cannot write", "No space left"});
}

}  // namespace
}  // namespace augur
