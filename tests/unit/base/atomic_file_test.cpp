#include "base/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <vector>

#include "support/error_of.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing_support::error_of;
using testing_support::TemporaryFolder;

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

void save(const fs::path& path, std::string_view text,
          AtomicFile::Access access = AtomicFile::Access::Usual) {
  AtomicFile file(path, access);
  file.write(text);
  file.commit();
}

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

/// No file of this process grows beyond this while it lives; the disk is full, so to say.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a";
  {
    AtomicFile abandoned(path);
    abandoned.write("half");
    EXPECT_FALSE(fs::exists(path));
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
  put(path, "old");
  AtomicFile file(path);
  file.write("ne");
  file.write("w");
  EXPECT_EQ(content(path), "old");
  file.commit();
  EXPECT_EQ(content(path), "new");
  EXPECT_THAT(error_of([&] { AtomicFile unwritable(folder.path() / "no" / "such"); }),
              AllOf(HasSubstr("no/such"), HasSubstr("No such file")));
}

TEST(AtomicFile, AFullDiskLeavesTheOldFile) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a";
  put(path, "old");
  std::string error;
  {
    const FullDisk disk(1 << 16);
    error = error_of([&] { save(path, std::string(1 << 17, 'x')); });
  }
  EXPECT_THAT(error, AllOf(HasSubstr(path.string() + ": cannot be written"), HasSubstr("too large")));
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(files_in(folder.path()), std::vector{path}) << "nothing is left behind";
}

TEST(AtomicFile, NobodyElseReadsWhatIsBeingWritten) {
  const TemporaryFolder folder;
  AtomicFile file(folder.path() / "a");
  ASSERT_EQ(files_in(folder.path()).size(), 1u);
  EXPECT_EQ(mode_of(files_in(folder.path()).front()), 0600u);
}

// Two writers of one file at once have a temporary file each, under names that follow from nothing known.
TEST(AtomicFile, TemporaryNamesCannotBeGuessed) {
  const TemporaryFolder folder;
  const fs::path victim = folder.path() / "victim";
  put(victim, "theirs");
  fs::create_symlink(victim, folder.path() / ("a." + std::to_string(getpid()) + ".tmp"));
  AtomicFile one(folder.path() / "a");
  AtomicFile two(folder.path() / "a");
  one.write("one");
  two.write("two");
  one.commit();
  EXPECT_EQ(content(folder.path() / "a"), "one");
  two.commit();
  EXPECT_EQ(content(folder.path() / "a"), "two");
  EXPECT_EQ(content(victim), "theirs");
}

TEST(AtomicFile, FinishedFilesHaveTheUsualPermissions) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a";
  const mode_t before = umask(027);
  save(path, "x");
  umask(before);
  EXPECT_EQ(mode_of(path), 0640u);
  fs::permissions(path, fs::perms(0604));
  save(path, "y");
  EXPECT_EQ(mode_of(path), 0604u) << "those of the file that was there";
  save(path, "z", AtomicFile::Access::Owner);
  EXPECT_EQ(mode_of(path), 0600u);
}

TEST(AtomicFile, FollowsALink) {
  const TemporaryFolder folder;
  put(folder.path() / "real", "old");
  fs::create_symlink("real", folder.path() / "link");
  save(folder.path() / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link"));
  EXPECT_EQ(content(folder.path() / "real"), "new");
}

TEST(AtomicFile, ADeviceIsWrittenTo) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  EXPECT_THAT(error_of([] { save("/dev/full", "x"); }),
              AllOf(HasSubstr("/dev/full"), HasSubstr("No space left")));
  save("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_THAT(error_of([] { save("/tmp", "x"); }), HasSubstr("/tmp: cannot be written: Is a directory"));
}

}  // namespace
}  // namespace augur
