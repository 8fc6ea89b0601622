#include "server/openai/openai_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "server/fields/cache_fields.h"
#include "server/fields/grammar_field.h"
#include "server/fields/json_fields.h"
#include "server/fields/sampling_fields.h"
#include "server/fields/speculative_field.h"
#include "server/openai/openai_messages.h"

namespace augur {
namespace {

using nlohmann::json;

/// What vllm-router writes into every request that it passes on, and how it is here anyway.
struct Fixed {
  std::string_view key;
  bool value;
};
constexpr std::array kFixed = {Fixed{"no_stop_trim", false},         Fixed{"skip_special_tokens", true},
                               Fixed{"return_hidden_states", false}, Fixed{"continue_final_message", false},
                               Fixed{"separate_reasoning", true},    Fixed{"stream_reasoning", true},
                               Fixed{"include_reasoning", true}};

bool read_fixed(const std::string& key, const json& value) {
  const auto* found =
      std::find_if(kFixed.begin(), kFixed.end(), [&](const Fixed& f) { return f.key == key; });
  if (found == kFixed.end()) return false;
  if (value != found->value) {
    unexpected(key, fmt::format("{}: this server does not support anything else", found->value));
  }
  return true;
}

/// A text, or a list of token ids.
Request prompt(const std::string& field, const json& value) {
  Request to;
  if (value.is_string()) {
    to.prompt = value.get<std::string>();
    return to;
  }
  if (!value.is_array() || value.empty()) unexpected(field, "a string or a list of token ids");
  for (std::size_t i = 0; i < value.size(); ++i) {
    to.prompt_tokens.push_back(static_cast<TokenId>(
        read_integer(fmt::format("{}[{}]", field, i), value[i], 0, std::numeric_limits<TokenId>::max())));
  }
  return to;
}

/// One of them, or a list.
std::vector<Request> prompts(const json& value, const Limits& limits) {
  if (!value.is_array() || value.empty() || value[0].is_number()) return {prompt("prompt", value)};
  if (std::ssize(value) > limits.prompts) {
    unexpected("prompt", fmt::format("at most {} prompts", limits.prompts));
  }
  std::vector<Request> to;
  for (std::size_t i = 0; i < value.size(); ++i) {
    to.push_back(prompt(fmt::format("prompt[{}]", i), value[i]));
  }
  return to;
}

}  // namespace

OpenAiRequest parse_openai_request(OpenAiEndpoint endpoint, const json& body, std::string_view text,
                                   const RequestRules& rules) {
  const bool chat = endpoint == OpenAiEndpoint::ChatCompletions;
  OpenAiRequest to;
  Request request;  // but for the prompt
  request.sampling.temperature = 1;
  request.max_tokens = chat ? -1 : 16;
  bool seeded = false;
  bool usage_asked = false;
  bool logprobs = false;
  for (const auto& [key, value] : body.items()) {
    const bool of_tools = key == "tools" || key == "tool_choice" || key == "parallel_tool_calls";
    if (value.is_null() || (chat && of_tools)) continue;  // those are read_openai_tools()'s
    if (key == "model") {
      to.model = read_string(key, value);
    } else if (chat && key == "messages") {
      to.requests.resize(1);
      to.requests.front().messages = read_openai_messages(value);
    } else if (!chat && key == "prompt") {
      to.requests = prompts(value, rules.limits);
    } else if (!chat && key == "echo") {
      to.echo = read_boolean(key, value);
    } else if (!chat && key == "logprobs") {
      request.logprobs = static_cast<int>(read_integer(key, value, 0, rules.limits.logprobs));
    } else if (chat && key == "logprobs") {
      logprobs = read_boolean(key, value);
    } else if (chat && key == "top_logprobs") {
      request.logprobs = static_cast<int>(read_integer(key, value, 0, rules.limits.logprobs));
    } else if (key == "max_tokens" || (chat && key == "max_completion_tokens")) {
      request.max_tokens = read_integer(key, value, 0, std::int64_t{1} << 31);
    } else if (read_sampling_field(key, value, rules.limits, request)) {
      seeded |= key == "seed";
    } else if (read_grammar_field(key, value, text, request) || read_cache_field(key, value, request)) {
      continue;
    } else if (key == "n") {
      to.choices = static_cast<int>(read_integer(key, value, 1, rules.limits.choices));
    } else if (key == "stream") {
      to.stream = read_boolean(key, value);
    } else if (key == "stream_options") {
      if (!value.is_object()) unexpected(key, "an object");
      for (const auto& [name, item] : value.items()) {
        if (name != "include_usage") unsupported("stream_options." + name);
        to.stream_usage = read_boolean("stream_options.include_usage", item);
      }
      usage_asked = true;
    } else if (key == "slo") {
      if (!value.is_object()) unexpected(key, "{\"tpot_ms\": ...}");
      for (const auto& [name, item] : value.items()) {
        if (name != "tpot_ms") unsupported("slo." + name);
        request.tpot_ms = read_number("slo.tpot_ms", item, 1e-3, 1e6);
      }
    } else if (key == "timeout") {
      to.seconds = read_number(key, value, 1e-3, 1e9);
    } else if (key == "return_speculation") {
      to.stream_speculation = read_boolean(key, value);
    } else if (key == "priority") {
      to.priority =
          -static_cast<int>(read_integer(key, value, -1000000, 1000000));  // as vLLM has it: lower is earlier
    } else if (key == "speculative") {
      request.speculation = read_speculative(value, rules.speculation);
    } else if (key != "user" && key != "metadata" && !read_fixed(key, value)) {
      unsupported(key);
    }
  }
  if (to.requests.empty()) throw BadRequest(chat ? "messages" : "prompt", "is missing");
  if (usage_asked && !to.stream) throw BadRequest("stream_options", "goes with \"stream\": true");
  if (to.stream_speculation && !to.stream)
    throw BadRequest("return_speculation", "goes with \"stream\": true");
  if (chat && logprobs) request.logprobs = std::max(request.logprobs, 0);
  if (chat && !logprobs && request.logprobs >= 0) {
    throw BadRequest("top_logprobs", "goes with \"logprobs\": true");
  }
  request.prompt_logprobs = to.echo && request.logprobs >= 0;
  if (request.prompt_logprobs && to.stream) {
    throw BadRequest("echo", "the prompt's log-probabilities are not streamed: expected \"stream\": false");
  }
  check_stop_bytes("stop", request.stop, to.requests.size() * static_cast<std::size_t>(to.choices),
                   rules.limits);
  if (!seeded) request.sampling.seed = any_seed();
  for (Request& prompted : to.requests) {
    Request whole = request;
    whole.prompt = std::move(prompted.prompt);
    whole.prompt_tokens = std::move(prompted.prompt_tokens);
    whole.messages = std::move(prompted.messages);
    prompted = std::move(whole);
  }
  return to;
}

}  // namespace augur
