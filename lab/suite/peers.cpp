#include "lab/suite/peers.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/error.h"

namespace augur {
namespace {

using nlohmann::json;

// Written beside this file in peers/, embedded by the build.
constexpr const char* kLlamaCpp =
#include "llama_cpp.inc"
    ;

bool needs_draft(const Method& peer) {
  return peer.server.find("$DRAFT") != std::string::npos || peer.server.find("${DRAFT") != std::string::npos;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

Method peer_of(std::string_view line, const std::string& where) {
  const std::size_t colon = line.find(':');
  const std::string_view name = trimmed(line.substr(0, colon));
  const std::string_view command =
      colon == std::string_view::npos ? std::string_view() : trimmed(line.substr(colon + 1));
  if (name.empty() || command.empty()) throw Error("{}: expected NAME: COMMAND LINE", where);
  Method peer;
  peer.label = name;
  peer.server = command;
  peer.text = "peer " + peer.label + ": " + peer.server;
  peer.speculation.drafters = {"none"};
  return peer;
}

/// Without what is to be answered. The whole sampling chain is named: what is left out has each engine's own
/// default (llama.cpp's top_k is 40, its min_p 0.05), and drafts are easier to accept behind a filter.
json request_for(const SuiteRequest& how) {
  const SamplingOptions& s = how.sampling;
  json body = {{"max_tokens", how.max_tokens},
               {"temperature", s.temperature},
               {"top_k", s.top_k},
               {"top_p", s.top_p},
               {"min_p", s.min_p},
               {"repeat_penalty", s.repetition_penalty},
               {"repeat_last_n", s.penalty_window},
               {"presence_penalty", s.presence_penalty},
               {"frequency_penalty", s.frequency_penalty},
               {"seed", s.seed},
               {"stream", false},
               {"cache_prompt", false}};
  if (how.ignore_eos) body["ignore_eos"] = true;
  return body;
}

/// Adds an answer in the form of OpenAI's API, of chats or of completions; its text.
std::string add_answer(const std::string& peer, const json& answer, double wall_ms, bool chat, Cell& cell) {
  try {
    const json& usage = answer.at("usage");
    const std::int64_t tokens = usage.at("completion_tokens");
    const json timings = answer.value("timings", json::object());
    cell.prompt_tokens += usage.at("prompt_tokens").get<std::int64_t>();
    cell.tokens += tokens;
    cell.prompt_ms += timings.value("prompt_ms", 0.0);
    cell.decode_ms += timings.value("predicted_ms", wall_ms);
    if (timings.contains("predicted_n")) {  // drafts are told only where there are some
      const std::int64_t drafted = timings.value("draft_n", 0);
      const std::int64_t accepted = timings.value("draft_n_accepted", 0);
      SpeculationStatistics& s = cell.speculation;
      s.calls += tokens - accepted;  // every one adds a token of its own
      s.verified_tokens += tokens - accepted + drafted;
      s.drafted_tokens += drafted;
      s.accepted_tokens += accepted;
    }
    const json& choice = answer.at("choices").at(0);
    return chat ? choice.at("message").at("content") : choice.at("text");
  } catch (const json::exception& error) {
    throw Error("{}: not an answer in the form of OpenAI's {} API: {}", peer, chat ? "chat" : "completions",
                error.what());
  }
}

}  // namespace

std::vector<Method> read_peers(const std::filesystem::path& path) {
  std::ifstream in(path);
  if (!in) throw Error("{}: can't be read", path.string());
  return read_peers(in, path);
}

std::vector<Method> read_peers(std::istream& in, const std::filesystem::path& file) {
  std::vector<Method> peers;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::string where = file.string() + " line " + std::to_string(number);
    std::string more;
    while (line.ends_with('\\') && std::getline(in, more)) {
      line.back() = ' ';
      line += more;
      number += 1;
    }
    const std::string_view text = trimmed(line);
    if (text.empty() || text.front() == '#') continue;
    peers.push_back(peer_of(text, where));
    const auto same = std::count_if(peers.begin(), peers.end(),
                                    [&](const Method& peer) { return peer.label == peers.back().label; });
    if (same > 1) throw Error("{}: a second peer named {}", where, peers.back().label);
  }
  if (peers.empty()) throw Error("{}: names no peer", file.string());
  return peers;
}

std::vector<Method> find_peers(const std::string& name_or_file, bool has_draft) {
  if (name_or_file == "llama.cpp") {
    std::istringstream in(kLlamaCpp);
    std::vector<Method> peers = read_peers(in, name_or_file);
    if (!has_draft) std::erase_if(peers, needs_draft);
    return peers;
  }
  std::vector<Method> peers = read_peers(name_or_file);
  const auto drafting = std::find_if(peers.begin(), peers.end(), needs_draft);
  if (drafting != peers.end() && !has_draft) {
    throw Error("{}: {} is started with $DRAFT: expected -md with a GGUF file", name_or_file,
                drafting->label);
  }
  return peers;
}

bool PeerServers::run(const Method& peer, const SuitePrompt& prompt, const SuiteRequest& how,
                      const std::atomic<bool>* cancel, Cell& cell) {
  const auto cancelled = [&] { return cancel != nullptr && cancel->load(); };
  PeerServer& asked = server(peer, cancel);
  json body = request_for(how);
  json messages = json::array();
  std::string text;  // without a chat: turns and answers follow one another, as Augur's
  if (how.chat && !how.system.empty()) messages.push_back({{"role", "system"}, {"content", how.system}});
  const std::size_t turns = how.turns > 0 ? std::min(prompt.turns.size(), static_cast<std::size_t>(how.turns))
                                          : prompt.turns.size();
  for (std::size_t t = 0; t < turns && !cancelled(); ++t) {
    if (how.chat) {
      messages.push_back({{"role", "user"}, {"content", prompt.turns[t]}});
      body["messages"] = messages;
    } else {
      text += (t == 0 ? "" : "\n\n") + prompt.turns[t];
      body["prompt"] = text;
    }
    const Stopwatch watch;
    const json answer = asked.post(how.chat ? "/v1/chat/completions" : "/v1/completions", body);
    const std::string said = add_answer(peer.label, answer, watch.ms(), how.chat, cell);
    messages.push_back({{"role", "assistant"}, {"content", said}});
    text += said;
  }
  return !cancelled();
}

PeerServer& PeerServers::server(const Method& peer, const std::atomic<bool>* cancel) {
  std::unique_ptr<PeerServer>& server = servers_[peer.text];
  if (server == nullptr) server = std::make_unique<PeerServer>(peer.label, peer.server, settings_, cancel);
  return *server;
}

}  // namespace augur
