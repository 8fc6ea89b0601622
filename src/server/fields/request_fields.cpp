#include "server/fields/request_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <random>

#include "server/fields/grammar_field.h"
#include "server/fields/speculative_field.h"

namespace augur {
namespace {

using nlohmann::ordered_json;
using Draft = RequestDraft;

constexpr double kMostBias = 1e9;
constexpr double kMostPenalty = 1e6;

/// A bias of false forbids, as in llama.cpp.
float read_bias(const std::string& path, const ordered_json& value) {
  if (value == false) return -std::numeric_limits<float>::infinity();
  return static_cast<float>(read_number(path, value, -kMostBias, kMostBias));
}

void add_bias(const FieldValue& value, TokenId token, float bias, Draft& to) {
  if (token >= value.notes.vocab)
    unexpected(value.path, fmt::format("token ids below {}, found {}", value.notes.vocab, token));
  to.request.sampling.logit_bias.emplace_back(token, bias);
}

/// A text stands for its tokens.
void add_text_bias(const FieldValue& value, const std::string& text, float bias, Draft& to) {
  for (const TokenId token : value.notes.tokenize(text)) add_bias(value, token, bias, to);
}

/// A token's id, or else a text.
void add_key_bias(const FieldValue& value, const std::string& key, float bias, Draft& to) {
  TokenId token = -1;
  const auto [end, problem] = std::from_chars(key.data(), key.data() + key.size(), token);
  if (problem == std::errc{} && end == key.data() + key.size() && token >= 0) {
    add_bias(value, token, bias, to);
  } else {
    add_text_bias(value, key, bias, to);
  }
}

/// OpenAI's object of token ids and biases, or llama.cpp's list of [token, bias]; a text in the place of an
/// id stands for its tokens.
void read_logit_bias(const FieldValue& value, Draft& to) {
  if (value.json.is_object()) {
    for (const auto& [key, bias] : value.json.items()) {
      if (key.empty()) unexpected(value.path, "token ids or texts as keys, found an empty one");
      add_key_bias(value, key, read_bias(value.path + "." + key, bias), to);
    }
    return;
  }
  if (!value.json.is_array()) unexpected(value.path, "an object of token ids or texts and biases, or a list");
  for (std::size_t i = 0; i < value.json.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", value.path, i);
    const ordered_json& pair = value.json[i];
    if (!pair.is_array() || pair.size() != 2) unexpected(at, "[token, bias]");
    const float bias = read_bias(at + "[1]", pair[1]);
    if (pair[0].is_string() && !pair[0].get_ref<const std::string&>().empty()) {
      add_text_bias(value, pair[0].get<std::string>(), bias, to);
    } else {
      const auto token = read_integer(at + "[0]", pair[0], 0, std::numeric_limits<TokenId>::max());
      add_bias(value, static_cast<TokenId>(token), bias, to);
    }
  }
}

constexpr std::string_view kBiasSchema = R"({"oneOf": [
  {"type": "object", "additionalProperties": {"type": ["number", "boolean"]}},
  {"type": "array", "items": {"type": "array", "minItems": 2, "maxItems": 2}}]})";
constexpr std::string_view kStopSchema = R"({"oneOf": [{"type": "string", "minLength": 1},
  {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 16}]})";
constexpr std::string_view kSpeculativeSchema = R"({"$ref": "#/components/schemas/Speculative"})";

Field<Draft> penalty(std::string_view name, double low, double SamplingOptions::*member,
                     std::string_view description = {}) {
  return {{name, FieldType::number(low, kMostPenalty), description},
          [member](const FieldValue& v, Draft& to) { to.request.sampling.*member = v.number(); }};
}

}  // namespace

std::vector<std::string> read_stops(const std::string& field, const ordered_json& value,
                                    const Limits& limits) {
  std::vector<std::string> stops;
  if (value.is_string()) {
    stops.push_back(value.get<std::string>());
  } else if (value.is_array() && std::ssize(value) <= limits.stops) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      stops.push_back(read_string(fmt::format("{}[{}]", field, i), value[i]));
    }
  } else {
    unexpected(field, fmt::format("a string or a list of at most {}", limits.stops));
  }
  for (std::size_t i = 0; i < stops.size(); ++i) {
    if (stops[i].empty())
      unexpected(value.is_string() ? field : fmt::format("{}[{}]", field, i), "a string that is not empty");
  }
  check_stop_bytes(field, stops, 1, limits);
  return stops;
}

void check_stop_bytes(const std::string& field, const std::vector<std::string>& stops, std::size_t answers,
                      const Limits& limits) {
  std::size_t bytes = 0;
  for (const std::string& stop : stops) bytes += stop.size();
  if (bytes == 0 || answers <= static_cast<std::size_t>(limits.stop_bytes) / bytes) return;
  throw BadRequest(field, fmt::format("{} bytes for each of {} answers: expected at most {} bytes in all",
                                      bytes, answers, limits.stop_bytes));
}

const FieldTable<Draft>& sampling_fields() {
  constexpr std::int64_t kMostCount = 1 << 30;
  constexpr std::int64_t kLowestSeed = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHighestSeed = std::numeric_limits<std::int64_t>::max();
  static const FieldTable<Draft> table = {
      {{"temperature", FieldType::number(0, 100)},
       [](const FieldValue& v, Draft& to) { to.request.sampling.temperature = v.number(); }},
      {{"top_p", FieldType::number(0, 1)},
       [](const FieldValue& v, Draft& to) {  // 0: the most probable token alone, as other servers have it
         to.request.sampling.top_p = std::max(v.number(), double{std::numeric_limits<float>::min()});
       }},
      {{"top_k", FieldType::integer(-1, kMostCount), "-1 and 0: off"},
       [](const FieldValue& v, Draft& to) {
         to.request.sampling.top_k = static_cast<int>(std::max<std::int64_t>(0, v.integer()));
       }},
      {{"min_p", FieldType::number(0, 1)},
       [](const FieldValue& v, Draft& to) { to.request.sampling.min_p = v.number(); }},
      penalty("repetition_penalty", 1e-3, &SamplingOptions::repetition_penalty),
      penalty("repeat_penalty", 1e-3, &SamplingOptions::repetition_penalty, "the same"),
      penalty("presence_penalty", -kMostPenalty, &SamplingOptions::presence_penalty),
      penalty("frequency_penalty", -kMostPenalty, &SamplingOptions::frequency_penalty),
      {{"repeat_last_n", FieldType::integer(-1, kMostCount), "tokens that the penalties look at; -1: all"},
       [](const FieldValue& v, Draft& to) {
         to.request.sampling.penalty_window = static_cast<int>(v.integer());
       }},
      // OpenAI's seeds may be negative: any 64 bits will do.
      {{"seed", FieldType::integer(kLowestSeed, kHighestSeed)},
       [](const FieldValue& v, Draft& to) {
         to.request.sampling.seed = static_cast<std::uint64_t>(v.integer());
         to.seeded = true;
       }},
      {{"logit_bias", FieldType::schema(kBiasSchema), "by token id, or by a text that stands for its tokens"},
       read_logit_bias},
      {{"ignore_eos", FieldType::boolean()},
       [](const FieldValue& v, Draft& to) { to.request.ignore_eos = v.boolean(); }},
      {{"speculative", FieldType::schema(kSpeculativeSchema)},
       [](const FieldValue& v, Draft& to) {
         if (!v.json.is_object()) unexpected(v.path, "an object");
         to.speculative.update(v.json);
       }},
  };
  return table;
}

const FieldTable<Draft>& stop_fields() {
  static const FieldTable<Draft> table = {
      {{"stop", FieldType::schema(kStopSchema)},
       [](const FieldValue& v, Draft& to) { to.request.stop = read_stops(v.path, v.json, v.notes.limits); }}};
  return table;
}

const FieldTable<Draft>& cache_fields() {
  static const FieldTable<Draft> table = {
      {{"cache_prompt", FieldType::boolean(), "take over what is kept of a text that begins alike"},
       [](const FieldValue& v, Draft& to) { to.request.cache_prompt = v.boolean(); }},
      {{"cache_salt", FieldType::text(&Limits::salt_bytes),
        "what is kept is shared by requests of the same salt only"},
       [](const FieldValue& v, Draft& to) { to.request.cache_salt = v.text(); }}};
  return table;
}

void lay_defaults(const RequestDefaults& defaults, Draft& draft) {
  draft.seeded = defaults.seed.has_value();
  defaults.apply(draft.request);
}

Request finish_draft(const Draft& draft, const SpeculationPlan& plan) {
  Request request = draft.request;
  if (!draft.seeded) request.sampling.seed = any_seed();
  if (!draft.speculative.empty()) request.speculation = read_speculative(draft.speculative, plan);
  return request;
}

std::uint64_t any_seed() {
  std::random_device random;
  return (std::uint64_t{random()} << 21) ^ random();  // below 2^53: JSON carries it
}

}  // namespace augur
