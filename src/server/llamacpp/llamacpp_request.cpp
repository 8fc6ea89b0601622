#include "server/llamacpp/llamacpp_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "server/answers/generation_answer.h"
#include "server/fields/cache_fields.h"
#include "server/fields/grammar_field.h"
#include "server/fields/json_fields.h"
#include "server/fields/sampling_fields.h"
#include "server/fields/speculative_field.h"
#include "server/llamacpp/infill_prompt.h"

namespace augur {
namespace {

using nlohmann::json;

/// What llama.cpp calls the chain of SamplingOptions.
constexpr std::array kSamplers = {"penalties", "temperature", "top_k", "top_p", "min_p"};

/// What is accepted as long as it is off, and the value that says so.
struct Absent {
  const char* key;
  double off;
};
constexpr std::array kAbsent = {Absent{"dynatemp_range", 0},
                                Absent{"typical_p", 1},
                                Absent{"xtc_probability", 0},
                                Absent{"dry_multiplier", 0},
                                Absent{"mirostat", 0},
                                Absent{"top_n_sigma", -1},
                                Absent{"n_keep", 0},
                                Absent{"n_indent", 0},
                                Absent{"min_keep", 0},
                                Absent{"id_slot", -1},
                                Absent{"n_discard", 0},
                                Absent{"n_cmpl", 1},
                                Absent{"n", 1}};
/// What shapes these.
constexpr std::array kShapes = {"dynatemp_exponent",  "xtc_threshold",      "dry_base",
                                "dry_allowed_length", "dry_penalty_last_n", "dry_sequence_breakers",
                                "mirostat_tau",       "mirostat_eta"};

bool read_absent(const std::string& key, const json& value) {
  if (std::find(kShapes.begin(), kShapes.end(), key) != kShapes.end()) return true;
  for (const Absent& absent : kAbsent) {
    if (key != absent.key) continue;
    if (!value.is_number() || value.get<double>() != absent.off) {
      unexpected(key, fmt::format("{}: this server does not support it", absent.off));
    }
    return true;
  }
  if (key == "lora") {
    if (!value.is_array() || !value.empty()) unsupported(key);
    return true;
  }
  return false;
}

/// A list of [token, bias], where a bias of false forbids the token and a text stands for its tokens; or
/// OpenAI's object, which read_sampling_field() reads.
void read_logit_bias_list(const Engine& engine, const json& value, SamplingOptions& to) {
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = fmt::format("logit_bias[{}]", i);
    const json& pair = value[i];
    if (!pair.is_array() || pair.size() != 2) unexpected(at, "[token, bias]");
    const float bias = pair[1] == false ? -std::numeric_limits<float>::infinity()
                                        : static_cast<float>(read_number(at + "[1]", pair[1], -1e9, 1e9));
    if (pair[0].is_string()) {
      for (const TokenId token : engine.tokenize_part(pair[0].get<std::string>()))
        to.logit_bias.emplace_back(token, bias);
    } else {
      to.logit_bias.emplace_back(
          static_cast<TokenId>(read_integer(at + "[0]", pair[0], 0, engine.info().vocab - 1)), bias);
    }
  }
}

/// Reads a field that says how an answer is generated or told. False: it is none of these.
bool read_field(const Engine& engine, const std::string& key, const json& value, std::string_view text,
                const RequestRules& rules, LlamaCppRequest& to, json& speculative) {
  Request& request = to.request;
  if (key == "n_predict" || key == "max_tokens") {
    request.max_tokens = read_integer(key, value, -1, std::int64_t{1} << 31);
  } else if (key == "seed") {
    const std::int64_t seed = read_integer(key, value, -1, std::numeric_limits<std::int64_t>::max());
    if (seed >= 0) request.sampling.seed = static_cast<std::uint64_t>(seed);
  } else if (key == "logit_bias" && value.is_array()) {
    read_logit_bias_list(engine, value, request.sampling);
  } else if (read_sampling_field(key, value, rules.limits, request) ||
             read_cache_field(key, value, request) || (key == "grammar" && value == "")) {
  } else if ((key == "grammar" || key == "json_schema") && read_grammar_field(key, value, text, request)) {
  } else if (key == "stream") {
    to.stream = read_boolean(key, value);
  } else if (key == "return_tokens") {
    to.return_tokens = read_boolean(key, value);
  } else if (key == "n_probs") {
    const auto count = static_cast<int>(read_integer(key, value, 0, rules.limits.logprobs));
    request.logprobs = count > 0 ? count : -1;
  } else if (key == "samplers") {
    if (value != json(kSamplers))
      unexpected(key, json(kSamplers).dump() + ", the order in which this server has them");
  } else if (key == "post_sampling_probs" || key == "timings_per_token" || key == "return_progress") {
    if (read_boolean(key, value)) unsupported(key);
  } else if (key == "t_max_predict_ms") {
    if (const auto ms = read_integer(key, value, -1, 1 << 30); ms > 0) unsupported(key);
  } else if (key == "speculative") {
    if (!value.is_object()) unexpected(key, "an object");
    speculative.update(value);
  } else if (key.starts_with("speculative.")) {
    speculative[key.substr(std::string("speculative.").size())] = value;
  } else {
    return read_absent(key, value);
  }
  return true;
}

/// Everything but the prompt, whose fields are given.
LlamaCppRequest parse(const Engine& engine, const json& body, std::string_view text,
                      const RequestRules& rules, std::initializer_list<std::string_view> prompt_fields) {
  LlamaCppRequest to;
  to.request.sampling.seed = any_seed();
  json speculative = json::object();
  for (const auto& [key, value] : body.items()) {
    if (value.is_null() || key == "model") continue;
    if (std::find(prompt_fields.begin(), prompt_fields.end(), key) != prompt_fields.end()) continue;
    if (!read_field(engine, key, value, text, rules, to, speculative)) unsupported(key);
  }
  if (!speculative.empty()) to.request.speculation = read_speculative(speculative, rules.speculation);
  return to;
}

void set_prompt(const Engine& engine, std::vector<TokenId> tokens, LlamaCppRequest& to) {
  to.request.prompt_tokens = std::move(tokens);
  tokenize_prompt(engine, to.request);
  to.prompt = engine.detokenize(to.request.prompt_tokens, true);
}

}  // namespace

std::vector<TokenId> read_mixed_tokens(const Engine& engine, const std::string& field, const json& value) {
  const json list = value.is_array() ? value : json::array({value});
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].is_string()) {
      const std::string text = list[i].get<std::string>();
      const std::vector<TokenId> part = i == 0 ? engine.tokenize(text) : engine.tokenize_part(text);
      tokens.insert(tokens.end(), part.begin(), part.end());
    } else if (list[i].is_number_integer()) {
      tokens.push_back(static_cast<TokenId>(
          read_integer(fmt::format("{}[{}]", field, i), list[i], 0, engine.info().vocab - 1)));
    } else {
      unexpected(field, "one prompt: a text, a list of token ids, or a list of both");
    }
  }
  return tokens;
}

LlamaCppRequest parse_completion(const Engine& engine, std::string_view text, const RequestRules& rules) {
  const json body = parse_body(text);
  LlamaCppRequest to = parse(engine, body, text, rules, {"prompt"});
  const auto prompt = body.find("prompt");
  if (prompt == body.end()) throw BadRequest("prompt", "is missing");
  set_prompt(engine, read_mixed_tokens(engine, "prompt", *prompt), to);
  return to;
}

LlamaCppRequest parse_infill(const Engine& engine, std::string_view body_text, const RequestRules& rules) {
  const json body = parse_body(body_text);
  LlamaCppRequest to =
      parse(engine, body, body_text, rules, {"prompt", "input_prefix", "input_suffix", "input_extra"});
  const std::optional<InfillTokens> known = infill_tokens(engine);
  if (!known) throw Problem(501, "the model has no tokens for infilling");
  InfillText text;
  const auto read = [&](const char* field, std::string& into) {
    if (const auto value = body.find(field); value != body.end()) into = read_string(field, *value);
  };
  read("input_prefix", text.prefix);
  read("input_suffix", text.suffix);
  read("prompt", text.middle);
  if (const auto extra = body.find("input_extra"); extra != body.end() && !extra->is_null()) {
    if (!extra->is_array()) unexpected("input_extra", "a list of {\"filename\", \"text\"}");
    for (std::size_t i = 0; i < extra->size(); ++i) {
      const std::string at = fmt::format("input_extra[{}]", i);
      const json& file = (*extra)[i];
      if (!file.is_object() || !file.contains("text")) unexpected(at, "{\"filename\", \"text\"}");
      text.extra.push_back(
          {.name = file.contains("filename") ? read_string(at + ".filename", file["filename"]) : "tmp",
           .text = read_string(at + ".text", file["text"])});
    }
  }
  set_prompt(engine, infill_prompt(engine, *known, text), to);
  return to;
}

}  // namespace augur
