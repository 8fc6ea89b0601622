#pragma once

namespace augur::cli {

/// From now on SIGBUS, which a mapped file raises that became shorter (files/mapped_file.h), ends the program
/// with one line on stderr and exit code 1.
void report_bus_errors();

}  // namespace augur::cli
