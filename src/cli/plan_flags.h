#pragma once
#include <string_view>

#include "augur/plan.h"

namespace CLI {
class App;
}

namespace augur::cli {

// The flags of a speculation plan: one for every row of the table of keys (plan/keys.h), with its name,
// bounds and help. `plan` must live as long as `command`.

/// The flag of one key.
void add_plan_flag(CLI::App& command, std::string_view key, SpeculationPlan& plan);

/// --spec-type, and the flags of all keys that the command does not have yet. What goes together is checked
/// when the command line has been parsed; the command has add_engine_flags, too.
void add_speculation_flags(CLI::App& command, SpeculationPlan& plan);

}  // namespace augur::cli
