#include "cli/hub_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string>

#include "base/error.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/tell.h"
#include "hub/fetch_model.h"
#include "hub/http_client.h"

namespace augur::cli {
namespace {

constexpr const char* kModel = "--hf-repo";
constexpr const char* kFile = "--hf-file";
constexpr const char* kToken = "--hf-token";
constexpr const char* kOffline = "--offline";
constexpr const char* kDraft = "--spec-draft-hf";
constexpr const char* kPlaced = "IN";
constexpr std::array kModelPaths = {"--model", "MODEL", kPlaced};
constexpr std::array kDraftPaths = {"--spec-draft-model", "--draft-model"};

/// A usage error is said before anything is fetched.
std::string check_name(const std::string& text) {
  try {
    HubModel::parse(text);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

CLI::Option* add_name(CLI::App& command, const char* flags, const char* description, CLI::Option* path) {
  CLI::Option* name = command
                          .add_option_function<std::string>(
                              flags, [path](const std::string&) { path->required(false); }, description)
                          ->type_name("OWNER/NAME[:QUANT]")
                          ->check(CLI::Validator(check_name, ""));
  return path->get_name() == kPlaced ? name : name->excludes(path);
}

/// What the command line, or what stands for it, says; empty: nothing.
std::string value_of(const CLI::App& command, const char* flag) {
  const CLI::Option* option = command.get_option_no_throw(flag);
  return option == nullptr || option->count() == 0 ? "" : option->results().back();
}

bool is_set(const CLI::App& command, const char* flag) {
  const CLI::Option* option = command.get_option_no_throw(flag);
  return option != nullptr && option->count() > 0 && option->as<bool>();
}

HubSettings settings_of(const CLI::App& command) {
  HubSettings settings = hub_settings([](const char* name) { return std::getenv(name); });
  if (const std::string token = value_of(command, kToken); !token.empty()) {
    check_token(token, kToken);
    settings.token = token;
  }
  if (is_set(command, kOffline)) settings.offline = true;
  return settings;
}

void set_path(CLI::App& command, std::span<const char* const> flags, const std::string& path) {
  for (const char* flag : flags) {
    CLI::Option* option = command.get_option_no_throw(flag);
    if (option == nullptr) continue;
    option->clear();
    option->add_result(path);
    option->run_callback();
    return;
  }
}

}  // namespace

void add_hub_flags(CLI::App& command, CLI::Option* model) {
  CLI::Option* name = add_name(command, kModel,
                               "(-hf) Model of a hub, fetched where it is not here: its GGUF file of QUANT "
                               "(default: Q4_K_M, else Q8_0, else the first), or its folder",
                               model);
  command.add_option(kFile, "(-hff) The file of it, in place of QUANT's")->type_name("FILE")->needs(name);
  command
      .add_option(kToken,
                  "(-hft) Token for models that are not everybody's. Better in HF_TOKEN: a command line "
                  "stays in histories")
      ->type_name("TOKEN");
  command.add_flag(kOffline)->description("Ask no hub: what the cache has is used");
}

void place_hub_model(const CLI::App& app, std::vector<std::string>& words) {
  const std::vector<const CLI::App*> commands = app.get_subcommands(nullptr);
  const auto placed = [&](const std::string& word) {
    return std::any_of(commands.begin(), commands.end(), [&](const CLI::App* one) {
      return one->check_name(word) && one->get_option_no_throw(kPlaced) != nullptr;
    });
  };
  // No option comes before the command.
  if (words.empty() || !placed(words.back())) return;
  const auto command = words.end() - 1;
  const std::string with_value = std::string(kModel) + '=';
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string name;
    if (words[i] == kModel && i > 0) name = words[i - 1];
    if (words[i].starts_with(with_value)) name = words[i].substr(with_value.size());
    if (!name.empty()) {
      words.insert(command, name);
      return;
    }
  }
}

void add_draft_hub_flag(CLI::App& command, CLI::Option* draft) {
  add_name(command, "--spec-draft-hf,--hf-repo-draft", "(-hfd) The same for the draft model or head", draft);
}

std::optional<int> fetch_models(CLI::App& command) {
  const std::string model = value_of(command, kModel);
  const std::string draft = value_of(command, kDraft);
  if ((model.empty() && draft.empty()) || is_set(command, "--print-config")) return std::nullopt;
  const HubSettings settings = settings_of(command);
  const InterruptGuard interrupt;
  Progress progress("fetching");
  const FetchHooks hooks = {
      .progress = [&](std::string_view what, double fraction) { progress.update(fraction, what); },
      .warning =
          [&](std::string_view text) {
            progress.done();
            tell("augur: warning: {}\n", text);
          },
      .stop = &interrupt.stop()};
  const auto fetch = [&](const std::string& name, const std::string& file,
                         std::span<const char* const> paths) {
    if (name.empty()) return;
    HubModel wanted = HubModel::parse(name);
    wanted.file = file;
    set_path(command, paths, fetch_model(wanted, settings, hooks).string());
  };
  try {
    fetch(model, value_of(command, kFile), kModelPaths);
    fetch(draft, "", kDraftPaths);
  } catch (const HubStopped&) {
    progress.done();
    tell("augur: interrupted; what has come is kept, the same command goes on from there\n");
  }
  if (interrupt.interrupted()) return interrupt.exit_code();
  return std::nullopt;
}

}  // namespace augur::cli
