#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "augur/engine.h"
#include "base/error.h"
#include "cli/commands.h"
#include "cli/conversation.h"
#include "cli/engine_flags.h"
#include "cli/output.h"
#include "cli/plan_flags.h"
#include "cli/request_flags.h"
#include "cli/tell.h"
#include "cli/turn_reader.h"

namespace augur::cli {
namespace {

struct ChatFlags {
  EngineOptions engine;
  RequestFlags request;
  std::string color = "auto";
};

/// Whether tokens are tinted; see no-color.org.
bool tints(const std::string& choice) {
  if (choice != "auto") return choice == "on";
  const char* const never = std::getenv("NO_COLOR");
  return stdout_is_terminal() && (never == nullptr || *never == '\0');
}

int chat(const ChatFlags& flags) {
  Engine engine = load_engine(flags.engine);
  if (!engine.info().has_chat_template) {
    throw Error("{} has no chat template: `augur generate` completes texts", flags.engine.model);
  }
  Request request = make_request(flags.request, {});
  TurnReader reader;
  Conversation conversation(engine, std::move(request), flags.request.system, tints(flags.color),
                            reader.interactive());
  if (reader.interactive()) tell("/help lists the commands.\n");
  while (const std::optional<std::string> turn = reader.next()) {
    if (!conversation.take(*turn)) break;
  }
  return conversation.exit_code();
}

}  // namespace

void add_chat(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ChatFlags>();
  CLI::App* command =
      app.add_subcommand("chat", "Talk with a model: a line is a turn, from a terminal or a pipe");
  add_engine_flags(*command, flags->engine);
  add_engine_limit_flags(*command, flags->engine);
  add_length_flags(*command, flags->request);
  command->add_option("--system-prompt,--system", flags->request.system,
                      "System message (llama.cpp's -sys, too)");
  command->option_defaults()->group("Output");
  command
      ->add_option("--color", flags->color,
                   "Tint tokens by who proposed them and how deep; auto: on a terminal, "
                   "without NO_COLOR")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->capture_default_str();
  add_sampling_flags(*command, flags->request.sampling);
  add_speculation_flags(*command, flags->engine.speculation);
  command->callback([flags, &action] { action = [flags] { return chat(*flags); }; });
}

}  // namespace augur::cli
