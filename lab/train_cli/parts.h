#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace augur {

/// What every part's subcommand is added to.
struct Program {
  CLI::App& app;
  std::string command;  ///< as it was typed, for cards
};

/// Adds the part's subcommand and its flags; the returned function runs it after parsing.
using Part = std::function<int()>;
Part add_eagle3(Program& program);
Part add_eagle(Program& program);
Part add_mtp(Program& program);
Part add_medusa(Program& program);
Part add_hydra(Program& program);
Part add_early_exit(Program& program);
Part add_dflash(Program& program);
Part add_draft(Program& program);
Part add_lm(Program& program);
Part add_tokenizer(Program& program);
Part add_c2t(Program& program);
Part add_acceptance(Program& program);
Part add_hetero(Program& program);
Part add_generate(Program& program);

}  // namespace augur
