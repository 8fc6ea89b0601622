#pragma once
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace augur::cli {

/// What the chosen subcommand does once the whole command line has been accepted; returns the exit code.
using Action = std::function<int()>;

/// Exit code; InterruptGuard has others, and everything else that goes wrong is 1.
inline constexpr int kUsageError = 2;

/// The main() of a program: parses the command line, which sets `action`, and runs that. What goes wrong is
/// one message on stderr that begins with "augur: ".
int run_program(CLI::App& app, const Action& action, int argc, char** argv);

/// The arguments behind a program's name, last first, as CLI11 takes them, with llama.cpp's short flags under
/// their long names. Keys among them are overwritten in `argv`, which everybody on the machine may read (ps).
std::vector<std::string> take_arguments(int argc, char** argv);

/// Replaces this process by the program `name` that lies beside it or on the PATH. Returns only by throwing:
/// an Error that `missing` explains where there is no such program.
[[noreturn]] void hand_over(std::string_view name, std::span<const std::string> arguments,
                            std::string_view missing);

}  // namespace augur::cli
