#include "server/fields/sampling_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "server/fields/json_fields.h"

namespace augur {
namespace {

using nlohmann::json;

void read_logit_bias(const json& value, SamplingOptions& to) {
  if (!value.is_object()) unexpected("logit_bias", "an object of token ids and biases");
  for (const auto& [key, bias] : value.items()) {
    TokenId token = -1;
    const auto [end, problem] = std::from_chars(key.data(), key.data() + key.size(), token);
    if (problem != std::errc{} || end != key.data() + key.size() || token < 0) {
      unexpected("logit_bias", fmt::format("token ids as keys, found \"{}\"", key));
    }
    to.logit_bias.emplace_back(token, static_cast<float>(read_number("logit_bias." + key, bias, -1e9, 1e9)));
  }
}

}  // namespace

void read_stops(const std::string& field, const json& value, const Limits& limits,
                std::vector<std::string>& to) {
  if (value.is_string()) {
    to.push_back(value.get<std::string>());
  } else if (value.is_array() && std::ssize(value) <= limits.stops) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      to.push_back(read_string(fmt::format("{}[{}]", field, i), value[i]));
    }
  } else {
    unexpected(field, fmt::format("a string or a list of at most {}", limits.stops));
  }
  for (const std::string& stop : to) {
    if (stop.empty()) unexpected(field, "strings that are not empty");
  }
  check_stop_bytes(field, to, 1, limits);
}

void check_stop_bytes(const std::string& field, const std::vector<std::string>& stops, std::size_t answers,
                      const Limits& limits) {
  std::size_t bytes = 0;
  for (const std::string& stop : stops) bytes += stop.size();
  if (bytes == 0 || answers <= static_cast<std::size_t>(limits.stop_bytes) / bytes) return;
  throw BadRequest(field, fmt::format("{} bytes for each of {} answers: expected at most {} bytes in all",
                                      bytes, answers, limits.stop_bytes));
}

bool read_sampling_field(const std::string& key, const json& value, const Limits& limits, Request& request) {
  constexpr double kMost = 1e6;
  SamplingOptions& sampling = request.sampling;
  if (key == "temperature") {
    sampling.temperature = read_number(key, value, 0, 100);
  } else if (key == "top_p") {
    sampling.top_p = read_number(key, value, 0, 1);
  } else if (key == "top_k") {
    sampling.top_k = static_cast<int>(std::max<std::int64_t>(0, read_integer(key, value, -1, 1 << 30)));
  } else if (key == "min_p") {
    sampling.min_p = read_number(key, value, 0, 1);
  } else if (key == "repetition_penalty" || key == "repeat_penalty") {
    sampling.repetition_penalty = read_number(key, value, 1e-3, kMost);
  } else if (key == "presence_penalty") {
    sampling.presence_penalty = read_number(key, value, -kMost, kMost);
  } else if (key == "frequency_penalty") {
    sampling.frequency_penalty = read_number(key, value, -kMost, kMost);
  } else if (key == "repeat_last_n") {
    sampling.penalty_window = static_cast<int>(read_integer(key, value, -1, 1 << 30));
  } else if (key == "logit_bias") {
    read_logit_bias(value, sampling);
  } else if (key == "seed") {
    // OpenAI's seeds may be negative: any 64 bits will do.
    sampling.seed = static_cast<std::uint64_t>(read_integer(
        key, value, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()));
  } else if (key == "stop") {
    read_stops(key, value, limits, request.stop);
  } else if (key == "ignore_eos") {
    request.ignore_eos = read_boolean(key, value);
  } else {
    return false;
  }
  return true;
}

std::uint64_t any_seed() {
  std::random_device random;
  return (std::uint64_t{random()} << 21) ^ random();  // below 2^53: JSON carries it
}

}  // namespace augur
