#include "server/log_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "support/error_of.h"
#include "support/eventually.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::poll_until;

std::string content(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

class LogWriterTest : public testing::Test {
 protected:
  /// A pipe that nobody reads as yet.
  int make_pipe() {
    EXPECT_EQ(::mkfifo(file_.c_str(), 0600), 0);
    return ::open(file_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  }
  /// Reports go into the log, and are noted.
  void begin(const std::string& file) {
    writer_ = std::make_unique<LogWriter>(file, [this](const std::string& trouble) {
      const std::lock_guard lock(mutex_);
      reports_.push_back(trouble);
      writer_->write(trouble + "\n");
    });
  }
  void begin() { begin(file_.string()); }
  std::vector<std::string> reports() {
    const std::lock_guard lock(mutex_);
    return reports_;
  }

  testing_support::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "log";
  std::mutex mutex_;
  std::vector<std::string> reports_;
  std::unique_ptr<LogWriter> writer_;
};

TEST_F(LogWriterTest, WritesAllThatWaitsBeforeItEnds) {
  std::ofstream(file_) << "what was there\n";
  begin();
  std::string expected = "what was there\n";
  for (int i = 0; i < 1000; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    writer_->write(line);
    expected += line;
  }
  writer_.reset();
  EXPECT_EQ(content(file_), expected);
  EXPECT_EQ(std::filesystem::status(file_).permissions() & std::filesystem::perms::others_read,
            std::filesystem::perms::others_read)
      << "a file that was there keeps its mode";
}

TEST_F(LogWriterTest, OthersCannotReadANewFile) {
  begin();
  writer_.reset();
  EXPECT_EQ(std::filesystem::status(file_).permissions() &
                (std::filesystem::perms::others_all | std::filesystem::perms::group_write),
            std::filesystem::perms::none);
}

/// What logrotate does: the file gets another name, and then the signal comes.
TEST_F(LogWriterTest, OpensItsFileAnew) {
  begin();
  writer_->write("first\n");
  ASSERT_TRUE(poll_until([&] { return content(file_) == "first\n"; }));
  std::filesystem::rename(file_, folder_.path() / "log.1");
  writer_->reopen();
  ASSERT_TRUE(poll_until([&] { return std::filesystem::exists(file_); }));
  writer_->write("second\n");
  writer_.reset();
  EXPECT_EQ(content(folder_.path() / "log.1"), "first\n");
  EXPECT_EQ(content(file_), "second\n");
}

TEST_F(LogWriterTest, GoesOnInTheOldFileWhereTheNewOneCannotBeOpened) {
  begin();
  std::filesystem::rename(file_, folder_.path() / "log.1");
  std::filesystem::create_directory(file_);
  writer_->reopen();
  ASSERT_TRUE(poll_until([&] { return !reports().empty(); }));
  writer_->write("line\n");
  writer_.reset();
  EXPECT_THAT(content(folder_.path() / "log.1"), testing::EndsWith("line\n"));
  EXPECT_THAT(reports(), ElementsAre(testing::AllOf(HasSubstr(file_.string()), HasSubstr("Is a directory"))));
}

TEST_F(LogWriterTest, SaysWhichFileCannotBeOpened) {
  const std::string problem =
      testing_support::error_of([&] { begin((folder_.path() / "no" / "log").string()); });
  EXPECT_THAT(problem,
              testing::AllOf(HasSubstr("no/log"), HasSubstr("for the log"), HasSubstr("No such file")));
}

TEST_F(LogWriterTest, DropsAndCountsWhatAStalledReaderDoesNotTake) {
  const int reader = make_pipe();
  begin();
  const std::string line(1000, 'x');
  constexpr std::int64_t kLines = 4000;  // four times what may wait
  for (int i = 0; i < kLines; ++i) writer_->write(line + "\n");
  const std::int64_t dropped = writer_->dropped();
  EXPECT_GT(dropped, kLines / 2);
  EXPECT_LT(dropped, kLines - static_cast<std::int64_t>(LogWriter::kQueueBytes) / 1001 + 1);

  std::string got;
  ASSERT_TRUE(poll_until([&] {
    char buffer[65536];
    for (ssize_t n = 0; (n = ::read(reader, buffer, sizeof(buffer))) > 0;) got.append(buffer, n);
    return got.find("are lost") != std::string::npos;
  }));
  EXPECT_THAT(got, HasSubstr(std::to_string(dropped) + " lines of the log are lost: more waited than may"));
  const auto whole = [&](std::size_t from) { return got.compare(from, line.size() + 1, line + "\n") == 0; };
  std::int64_t written = 0;
  for (std::size_t at = 0; whole(at); at += line.size() + 1) ++written;
  EXPECT_EQ(written + dropped, kLines) << "what is written is written whole, and the rest is counted";
  ::close(reader);
}

TEST_F(LogWriterTest, EndsWhereNobodyReads) {
  const int reader = make_pipe();
  begin();
  for (int i = 0; i < 200; ++i) writer_->write(std::string(1000, 'x') + "\n");
  writer_.reset();
  char buffer[65536];
  EXPECT_GT(::read(reader, buffer, sizeof(buffer)), 0) << "what the pipe had room for";
  ::close(reader);
}

TEST_F(LogWriterTest, AReaderThatHasGoneCostsLinesOnly) {
  const int reader = make_pipe();
  begin();
  ::close(reader);
  const auto old = std::signal(SIGPIPE, SIG_IGN);  // as the program has it
  writer_->write("line\n");
  EXPECT_TRUE(poll_until([&] { return writer_->dropped() == 1; }));
  writer_.reset();
  std::signal(SIGPIPE, old);
}

TEST_F(LogWriterTest, AFullDiskCostsLinesAndNothingElse) {
  begin("/dev/full");
  for (int i = 0; i < 100; ++i) writer_->write("line\n");
  EXPECT_TRUE(poll_until([&] { return writer_->dropped() == 100; }));
  EXPECT_THAT(reports(), testing::IsEmpty()) << "they would be lost, too";
  // It has room again.
  ASSERT_EQ(::symlink("/dev/full", file_.c_str()), 0);
  begin();
  writer_->write("line\n");
  EXPECT_TRUE(poll_until([&] { return writer_->dropped() == 1; }));
  std::filesystem::remove(file_);
  writer_->reopen();
  writer_->write("another\n");
  writer_->write("third\n");
  ASSERT_TRUE(poll_until([&] { return content(file_).find("are lost") != std::string::npos; }));
  EXPECT_THAT(content(file_), HasSubstr("1 lines of the log are lost: No space left on device"));
}

}  // namespace
}  // namespace augur
