#include "cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.h"

namespace augur::cli {

bool Output::write(std::string_view text) {
  while (!text.empty() && ok()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  return ok();
}

bool Output::line(std::string_view text) {
  std::string with_newline(text);
  with_newline += '\n';
  return write(with_newline);
}

void Output::finish() const {
  if (!ok()) throw Error("cannot write to standard output: {}", std::strerror(error_));
}

bool stdout_is_terminal() {
  return ::isatty(STDOUT_FILENO) == 1;
}
bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

}  // namespace augur::cli
