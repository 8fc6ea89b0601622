#pragma once
#include <sys/types.h>
#include <unistd.h>

#include <string_view>

#include "base/error.h"

namespace augur {

/// The process in which something was made that has threads: a child that is forked has none of them.
class ProcessMark {
 public:
  bool here() const { return ::getpid() == process_; }
  /// Error of kind Misuse in a child. `what`: "an engine".
  void require_here(std::string_view what) const {
    if (here()) return;
    throw Error(
        ErrorKind::Misuse,
        "{} of process {} is used in process {}, a child that was forked and has none of its threads: "
        "expected a child that loads an engine of its own",
        what, process_, ::getpid());
  }

 private:
  pid_t process_ = ::getpid();
};

}  // namespace augur
