#pragma once
#include <CLI/CLI.hpp>
#include <functional>

namespace augur {

/// Adds the part's subcommand and its flags; the returned function runs it after parsing.
using Part = std::function<int()>;
Part add_eagle3(CLI::App& app);

}  // namespace augur
