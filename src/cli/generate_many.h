#pragma once
#include <string>

#include "augur/engine.h"
#include "cli/request_flags.h"

namespace augur::cli {

struct ManyOptions {
  std::string file;  ///< see text/prompt_file.h; of every conversation the first turn
  int limit = -1;    ///< < 0: all
  int parallel = 1;
};

/// Runs a prompt file and prints one object a line, in the order of the file, each as soon as it and those
/// before it are done. Returns the exit code: 1 when a prompt was refused or a line is malformed; what could
/// be run has been run and printed then.
int generate_many(Engine& engine, const RequestFlags& flags, const ManyOptions& options);

}  // namespace augur::cli
