#include "cli/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "support/temporary_folder.h"

namespace augur::test {
namespace {

struct Pipe {
  int read = -1;
  int write = -1;
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
    read = ends[0];
    write = ends[1];
  }
  ~Pipe() {
    close_end(read);
    close_end(write);
  }
  static void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
};

/// What one run measures of the machine the next may use; the user's own files stay as they are.
std::string cache_folder() {
  return std::string(AUGUR_BINARY_DIR) + "/cache";
}

[[noreturn]] void become_program(const std::vector<std::string>& arguments, const ProgramOptions& options,
                                 int in, int out, int err) {
  std::vector<char*> argv = {const_cast<char*>(AUGUR_PROGRAM)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::setenv("XDG_CACHE_HOME", cache_folder().c_str(), 1);
  for (const std::string& variable : options.environment) ::putenv(const_cast<char*>(variable.c_str()));
  if (!options.stdout_path.empty())
    out = ::open(options.stdout_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (!options.stderr_path.empty())
    err = ::open(options.stderr_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (options.memory != 0) {
    const rlimit limit{options.memory, options.memory};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  if (options.descriptors) ::setrlimit(RLIMIT_NOFILE, &*options.descriptors);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execv(AUGUR_PROGRAM, argv.data());
  ::_exit(127);
}

}  // namespace

Outcome run_augur(const std::vector<std::string>& arguments, const ProgramOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);  // the program may end before it has read its input
  Pipe in;
  Pipe out;
  Pipe err;
  if (options.unread) Pipe::close_end(out.read);
  const pid_t child = ::fork();
  if (child == 0) ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // where ctest stops a test that hangs
  if (child == 0) become_program(arguments, options, in.read, out.write, err.write);
  Pipe::close_end(in.read);
  Pipe::close_end(out.write);
  Pipe::close_end(err.write);
  // Inputs of these tests fit a pipe's buffer.
  EXPECT_EQ(::write(in.write, options.input.data(), options.input.size()),
            static_cast<ssize_t>(options.input.size()));
  Pipe::close_end(in.write);

  Outcome outcome;
  bool signalled = false;
  while (out.read >= 0 || err.read >= 0) {
    std::array<pollfd, 2> ends = {pollfd{out.read, POLLIN, 0}, pollfd{err.read, POLLIN, 0}};
    ::poll(ends.data(), ends.size(), -1);
    const auto drain = [](const pollfd& end, int& descriptor, std::string& text) {
      if (descriptor < 0 || end.revents == 0) return;
      std::array<char, 4096> buffer{};
      const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
      if (count > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(count));
      } else {
        Pipe::close_end(descriptor);
      }
    };
    drain(ends[0], out.read, outcome.out);
    drain(ends[1], err.read, outcome.err);
    const int size = static_cast<int>(outcome.out.size());
    if (options.signal != 0 && size >= options.signal_after_bytes && !signalled) {
      ::kill(child, options.signal);
      signalled = true;
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

RunningAugur::RunningAugur(const std::vector<std::string>& arguments,
                           const std::vector<std::string>& environment, int terminal)
    : err_(temporary_file("stderr")) {
  Pipe out;
  const int err = ::open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setsid();
    if (terminal >= 0) ::ioctl(terminal, TIOCSCTTY, 0);
    become_program(arguments, {.input = {}, .environment = environment, .stdout_path = {}}, nothing,
                   out.write, err);
  }
  ::close(err);
  ::close(nothing);
  out_ = std::exchange(out.read, -1);
}

RunningAugur::~RunningAugur() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(out_);
}

std::uint16_t RunningAugur::port() {
  std::string said;
  char byte = 0;
  while (::read(out_, &byte, 1) == 1 && byte != '\n') said += byte;
  const std::size_t colon = said.rfind(':');
  return colon == std::string::npos ? 0 : static_cast<std::uint16_t>(std::stoi(said.substr(colon + 1)));
}

void RunningAugur::signal(int number) const {
  ::kill(pid_, number);
}

std::string RunningAugur::err() const {
  std::ifstream file(err_, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Outcome RunningAugur::wait() {
  int status = 0;
  ::waitpid(std::exchange(pid_, -1), &status, 0);
  Outcome outcome;
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  outcome.err = err();
  return outcome;
}

std::string stories260k() {
  return std::string(AUGUR_SOURCE_DIR) + "/models/stories260k";
}

std::filesystem::path temporary_file(const std::string& name, const std::string& content) {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  static const testing_support::TemporaryFolder
      ours;  // what another build left is none of its tests' business
  const std::filesystem::path folder =
      ours.path() / (std::string(info->test_suite_name()) + "_" + info->name());
  std::filesystem::create_directories(folder);
  const std::filesystem::path path = folder / name;
  std::filesystem::remove_all(path);
  if (!content.empty()) std::ofstream(path, std::ios::binary) << content;
  return path;
}

}  // namespace augur::test
