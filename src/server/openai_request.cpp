#include "server/openai_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "io/json_reader.h"

namespace augur {
namespace {

using nlohmann::json;

constexpr int kMostChoices = 16;
constexpr std::size_t kMostStops = 16;

[[noreturn]] void unexpected(const std::string& field, std::string_view expected) {
  throw BadRequest(field, fmt::format("expected {}", expected));
}

double number(const std::string& field, const json& value, double low, double high) {
  if (!value.is_number() || !(value.get<double>() >= low && value.get<double>() <= high)) {
    unexpected(field, fmt::format("a number from {} to {}", low, high));
  }
  return value.get<double>();
}

std::int64_t integer(const std::string& field, const json& value, std::int64_t low, std::int64_t high) {
  const bool fits = value.is_number_unsigned()
                        ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(high)
                        : value.is_number_integer() && value.get<std::int64_t>() <= high;
  if (!fits || value.get<std::int64_t>() < low)
    unexpected(field, fmt::format("an integer from {} to {}", low, high));
  return value.get<std::int64_t>();
}

bool boolean(const std::string& field, const json& value) {
  if (!value.is_boolean()) unexpected(field, "true or false");
  return value.get<bool>();
}

std::string string(const std::string& field, const json& value) {
  if (!value.is_string()) unexpected(field, "a string");
  return value.get<std::string>();
}

/// A string, or a list of parts {"type": "text", "text"}.
std::string content(const std::string& field, const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) unexpected(field, "a string or a list of parts");
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", field, i);
    const json& part = value[i];
    if (!part.is_object() || part.value("type", json()) != "text" || !part.contains("text")) {
      unexpected(at, "{\"type\": \"text\", \"text\": ...}: this server takes text only");
    }
    text += string(at + ".text", part["text"]);
  }
  return text;
}

Message message(const std::string& field, const json& value) {
  if (!value.is_object()) unexpected(field, "an object with role and content");
  Message to;
  for (const auto& [key, item] : value.items()) {
    const std::string at = field + "." + key;
    if (key == "role") {
      to.role = string(at, item);
      constexpr std::array kRoles = {"system", "developer", "user", "assistant"};
      if (std::find(kRoles.begin(), kRoles.end(), to.role) == kRoles.end()) {
        unexpected(at, "system, developer, user or assistant");
      }
      if (to.role == "developer") to.role = "system";  // its newer name
    } else if (key == "content") {
      to.content = content(at, item);
    } else if (!item.is_null()) {
      unsupported(at);
    }
  }
  if (to.role.empty()) throw BadRequest(field + ".role", "is missing");
  return to;
}

void read_stops(const json& value, std::vector<std::string>& to) {
  if (value.is_string()) {
    to.push_back(value.get<std::string>());
  } else if (value.is_array() && value.size() <= kMostStops) {
    for (std::size_t i = 0; i < value.size(); ++i) to.push_back(string(fmt::format("stop[{}]", i), value[i]));
  } else {
    unexpected("stop", fmt::format("a string or a list of at most {}", kMostStops));
  }
  for (const std::string& stop : to) {
    if (stop.empty()) unexpected("stop", "strings that are not empty");
  }
}

void read_prompt(const json& value, Request& to) {
  if (value.is_string()) {
    to.prompt = value.get<std::string>();
    return;
  }
  if (!value.is_array() || value.empty()) unexpected("prompt", "a string or a list of token ids");
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = fmt::format("prompt[{}]", i);
    if (value[i].is_string()) throw BadRequest(at, "one prompt a request: several are not supported");
    to.prompt_tokens.push_back(
        static_cast<TokenId>(integer(at, value[i], 0, std::numeric_limits<TokenId>::max())));
  }
}

void read_logit_bias(const json& value, SamplingOptions& to) {
  if (!value.is_object()) unexpected("logit_bias", "an object of token ids and biases");
  for (const auto& [key, bias] : value.items()) {
    TokenId token = -1;
    const auto [end, problem] = std::from_chars(key.data(), key.data() + key.size(), token);
    if (problem != std::errc{} || end != key.data() + key.size() || token < 0) {
      unexpected("logit_bias", fmt::format("token ids as keys, found \"{}\"", key));
    }
    to.logit_bias.emplace_back(token, static_cast<float>(number("logit_bias." + key, bias, -1e9, 1e9)));
  }
}

/// The text form of the plan, of keys whose values can name no file.
SpeculationPlan read_plan(const json& value, const SpeculationPlan& base) {
  if (!value.is_object()) unexpected("speculative", "an object");
  constexpr std::array kKeys = {"n-max", "n-min",     "p-min",     "topk",    "depth",
                                "size",  "ngram-min", "ngram-max", "coupling"};
  std::string text;
  std::string settings;
  for (const auto& [name, item] : value.items()) {
    const std::string at = "speculative." + name;
    std::string key = name;
    std::replace(key.begin(), key.end(), '_', '-');
    const std::string word = item.is_string() ? item.get<std::string>() : item.dump();
    if (word.find_first_of(key == "type" ? "/\\:;=" : "/\\:;=,") != std::string::npos) {
      throw BadRequest(at, fmt::format("'{}' may not stand in a request", word));
    }
    if (key == "type") {
      text = word;
    } else if (key == "policy" || std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end()) {
      settings += (settings.empty() ? "" : ",") + key + "=" + word;
    } else {
      unsupported(at);
    }
  }
  SpeculationPlan under = base;
  if (text == "none") return SpeculationPlan::parse("none");
  if (text.empty()) {
    for (const std::string& name : base.drafters) text += (text.empty() ? "" : ",") + name;
  }
  // Limits of the request's shape are not to be mixed with those of another policy.
  if (value.contains("policy"))
    under = {.drafters = base.drafters, .draft_vocabulary = base.draft_vocabulary};
  try {
    return SpeculationPlan::parse(settings.empty() ? text : text + ":" + settings, under);
  } catch (const Error& error) {
    throw BadRequest("speculative", error.what());
  }
}

std::uint64_t any_seed() {
  std::random_device random;
  return (std::uint64_t{random()} << 21) ^ random();  // below 2^53: JSON carries it
}

}  // namespace

json parse_body(std::string_view body) {
  json object;
  try {
    object = parse_json(body, "the body");
  } catch (const Error& error) {
    throw BadRequest("", error.what());
  }
  if (!object.is_object()) throw BadRequest("", "the body is not a JSON object");
  return object;
}

void unsupported(const std::string& field) {
  throw BadRequest(field, "this server does not support it");
}

OpenAiRequest parse_openai_request(OpenAiEndpoint endpoint, const json& body, const SpeculationPlan& plan) {
  const bool chat = endpoint == OpenAiEndpoint::ChatCompletions;
  constexpr double kMost = 1e6;
  OpenAiRequest to;
  Request& request = to.request;
  SamplingOptions& sampling = request.sampling;
  sampling.temperature = 1;
  request.max_tokens = chat ? -1 : 16;
  bool prompted = false;
  bool seeded = false;
  bool usage_asked = false;
  for (const auto& [key, value] : body.items()) {
    if (value.is_null()) continue;
    if (key == "model") {
      to.model = string(key, value);
    } else if (chat && key == "messages") {
      if (!value.is_array() || value.empty()) unexpected(key, "a list that is not empty");
      for (std::size_t i = 0; i < value.size(); ++i) {
        request.messages.push_back(message(fmt::format("messages[{}]", i), value[i]));
      }
      prompted = true;
    } else if (!chat && key == "prompt") {
      read_prompt(value, request);
      prompted = true;
    } else if (key == "max_tokens" || (chat && key == "max_completion_tokens")) {
      request.max_tokens = integer(key, value, 0, std::int64_t{1} << 31);
    } else if (key == "temperature") {
      sampling.temperature = number(key, value, 0, 100);
    } else if (key == "top_p") {
      sampling.top_p = number(key, value, 0, 1);
    } else if (key == "top_k") {
      sampling.top_k = static_cast<int>(std::max<std::int64_t>(0, integer(key, value, -1, 1 << 30)));
    } else if (key == "min_p") {
      sampling.min_p = number(key, value, 0, 1);
    } else if (key == "repetition_penalty" || key == "repeat_penalty") {
      sampling.repetition_penalty = number(key, value, 1e-3, kMost);
    } else if (key == "presence_penalty") {
      sampling.presence_penalty = number(key, value, -kMost, kMost);
    } else if (key == "frequency_penalty") {
      sampling.frequency_penalty = number(key, value, -kMost, kMost);
    } else if (key == "repeat_last_n") {
      sampling.penalty_window = static_cast<int>(integer(key, value, -1, 1 << 30));
    } else if (key == "logit_bias") {
      read_logit_bias(value, sampling);
    } else if (key == "seed") {
      // OpenAI's seeds may be negative: any 64 bits will do.
      sampling.seed = static_cast<std::uint64_t>(integer(key, value, std::numeric_limits<std::int64_t>::min(),
                                                         std::numeric_limits<std::int64_t>::max()));
      seeded = true;
    } else if (key == "stop") {
      read_stops(value, request.stop);
    } else if (key == "ignore_eos") {
      request.ignore_eos = boolean(key, value);
    } else if (key == "n") {
      to.choices = static_cast<int>(integer(key, value, 1, kMostChoices));
    } else if (key == "stream") {
      to.stream = boolean(key, value);
    } else if (key == "stream_options") {
      if (!value.is_object()) unexpected(key, "an object");
      for (const auto& [name, item] : value.items()) {
        if (name != "include_usage") unsupported("stream_options." + name);
        to.stream_usage = boolean("stream_options.include_usage", item);
      }
      usage_asked = true;
    } else if (key == "priority") {
      to.priority =
          -static_cast<int>(integer(key, value, -1000000, 1000000));  // as vLLM has it: lower is earlier
    } else if (key == "speculative") {
      request.speculation = read_plan(value, plan);
    } else if (key == "logprobs" && value == false) {
      continue;
    } else if (key != "user" && key != "metadata") {
      unsupported(key);
    }
  }
  if (!prompted) throw BadRequest(chat ? "messages" : "prompt", "is missing");
  if (usage_asked && !to.stream) throw BadRequest("stream_options", "goes with \"stream\": true");
  if (!seeded) sampling.seed = any_seed();
  return to;
}

}  // namespace augur
