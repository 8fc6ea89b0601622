#include "cli/conversation.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "cli/interrupt.h"
#include "cli/result_text.h"
#include "cli/tell.h"
#include "cli/tint.h"

namespace augur::cli {
namespace {

constexpr std::string_view kHelp =
    "/system TEXT   the system message from now on; without TEXT: none\n"
    "/regen         another answer to the last message\n"
    "/clear         forget what was said\n"
    "/spec on|off   speculate, or decode plainly: the text is the same\n"
    "/stats         figures of the last answer\n"
    "/save FILE     write the conversation as a line of JSON\n"
    "/exit          end; so does Ctrl-D. Ctrl-C stops an answer\n"
    "A line that ends in a backslash goes on in the next one.\n";

}  // namespace

Conversation::Conversation(Engine& engine, Request request, std::string system, bool color, bool interactive)
    : request_(std::move(request)),
      system_(std::move(system)),
      color_(color),
      interactive_(interactive),
      session_(engine, {.parallel = 1}) {}

bool Conversation::take(const std::string& turn) {
  if (turn.starts_with('/')) {
    const std::size_t space = turn.find(' ');
    const std::string argument = space == std::string::npos ? "" : turn.substr(space + 1);
    return command(std::string_view(turn).substr(1, space - 1), argument);
  }
  if (turn.empty()) return true;
  messages_.push_back({"user", turn});
  answer();
  out_.finish();
  return !over_;
}

bool Conversation::command(std::string_view name, const std::string& argument) {
  if (name == "exit") return false;
  if (name == "system") {
    system_ = argument;
  } else if (name == "regen") {
    regenerate();
  } else if (name == "clear") {
    messages_.clear();
    last_.reset();
  } else if (name == "spec") {
    set_speculation(argument);
  } else if (name == "stats") {
    say(last_ ? to_statistics(*last_) : "nothing has been answered yet\n");
  } else if (name == "save") {
    save(argument);
  } else if (name == "help") {
    say(kHelp);
  } else {
    say(fmt::format("there is no /{}; /help lists what there is\n", name));
  }
  return !over_;
}

/// What is about the conversation is not part of it: it goes to stderr.
void Conversation::say(std::string_view text) {
  tell("{}", text);
}

void Conversation::answer() {
  const InterruptGuard interrupt;
  Request request = request_;
  if (!system_.empty()) request.messages.push_back({"system", system_});
  request.messages.insert(request.messages.end(), messages_.begin(), messages_.end());
  Ticket ticket = session_.submit(std::move(request), {.on_token = [&](const TokenEvent& event) {
                                    return out_.write(color_ ? tinted(event) : std::string(event.text));
                                  }});
  while (!ticket.ended()) {
    if (interrupt.interrupted()) ticket.cancel();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  Result result = ticket.wait();
  out_.write("\n");
  if (result.finish_reason == FinishReason::Error) {
    say(fmt::format("augur: {}\n", result.error));
    messages_.pop_back();
    if (!interactive_) exit_code_ = 1;
    return;
  }
  messages_.push_back({"assistant", result.text});
  last_ = std::move(result);
  if (interrupt.interrupted() && !(interactive_ && interrupt.exit_code() == 128 + SIGINT)) {
    exit_code_ = interrupt.exit_code();
    over_ = true;
  }
}

/// The same seed would give the same answer.
void Conversation::regenerate() {
  if (messages_.empty()) return say("nothing has been answered yet\n");
  messages_.pop_back();
  ++request_.sampling.seed;
  answer();
}

void Conversation::set_speculation(const std::string& argument) {
  if (argument == "on") {
    request_.speculation.reset();
  } else if (argument == "off") {
    request_.speculation = SpeculationPlan{.drafters = {"none"}};
  } else {
    say("/spec: expected on or off\n");
  }
}

void Conversation::save(const std::string& file) {
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  if (!system_.empty()) messages.push_back({{"role", "system"}, {"content", system_}});
  for (const Message& m : messages_) messages.push_back({{"role", m.role}, {"content", m.content}});
  try {
    AtomicFile out(file, AtomicFile::Access::Owner);
    out.write(to_line({{"messages", std::move(messages)}}) + '\n');
    out.commit();
    say(fmt::format("saved to {}\n", file));
  } catch (const Error& error) {
    say(fmt::format("/save: {}\n", error.what()));
  }
}

}  // namespace augur::cli
