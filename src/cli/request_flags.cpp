#include "cli/request_flags.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "cli/validators.h"

namespace augur::cli {

void add_length_flags(CLI::App& command, RequestFlags& flags) {
  command.option_defaults()->group("Request");
  command
      .add_option("-n,--predict", flags.max_tokens,
                  "Tokens to generate, at most; -1: until the model ends or the context is full")
      ->check(in_range<std::int64_t>(-1, std::int64_t{1} << 32))
      ->capture_default_str();
  command.add_option("--stop", flags.stop, "End before this text; repeatable")->allow_extra_args(false);
  command.add_flag("--ignore-eos", flags.ignore_eos, "Never end by the model's own decision");
}

void add_request_flags(CLI::App& command, RequestFlags& flags) {
  add_length_flags(command, flags);
  auto* chat = command.add_flag("--chat", flags.chat, "Apply the model's chat template");
  command.add_option("--system", flags.system, "System message")->needs(chat);
}

Request make_request(const RequestFlags& flags, std::string prompt) {
  Request request;
  if (flags.chat) {
    if (!flags.system.empty()) request.messages.push_back({"system", flags.system});
    request.messages.push_back({"user", std::move(prompt)});
  } else {
    request.prompt = std::move(prompt);
  }
  request.max_tokens = flags.max_tokens;
  request.stop = flags.stop;
  request.ignore_eos = flags.ignore_eos;
  request.sampling = flags.sampling;
  request.grammar = flags.grammar;
  return request;
}

}  // namespace augur::cli
