#include "lab/suite/cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace augur {

using nlohmann::json;

std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t hash) {
  for (const std::byte b : bytes) hash = (hash ^ static_cast<std::uint64_t>(b)) * 1099511628211u;
  return hash;
}

std::uint64_t hash_text(std::string_view text, std::uint64_t hash) {
  // The length keeps "a","bc" and "ab","c" apart.
  const std::uint64_t length = text.size();
  return hash_bytes(std::as_bytes(std::span(text)), hash_bytes(std::as_bytes(std::span(&length, 1)), hash));
}

std::string hex(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

void Cell::add(const Result& turn, std::uint64_t& hash) {
  prompt_tokens += turn.prompt_tokens;
  tokens += static_cast<std::int64_t>(turn.tokens.size());
  prompt_ms += turn.prompt_ms;
  decode_ms += turn.decode_ms;
  speculation.type = turn.speculation.type;
  speculation.add(turn.speculation);
  const std::uint64_t length = turn.tokens.size();
  hash = hash_bytes(std::as_bytes(std::span(&length, 1)), hash);
  hash = hash_bytes(std::as_bytes(std::span(turn.tokens)), hash);
  output = hex(hash);
}

nlohmann::ordered_json to_json(const Cell& cell) {
  const SpeculationStatistics& s = cell.speculation;
  return {{"name", cell.name},
          {"prompt", cell.key.prompt},
          {"method", cell.key.method},
          {"round", cell.key.round},
          {"seed", cell.key.seed},
          {"prompt_tokens", cell.prompt_tokens},
          {"tokens", cell.tokens},
          {"prompt_ms", cell.prompt_ms},
          {"decode_ms", cell.decode_ms},
          {"calls", s.calls},
          {"verified", s.verified_tokens},
          {"drafted", s.drafted_tokens},
          {"accepted", s.accepted_tokens},
          {"per_position", s.accepted_per_position},
          {"draft_ms", s.draft_ms},
          {"classify_ms", s.classify_ms},
          {"verify_ms", s.verify_ms},
          {"other_ms", s.other_ms},
          {"forecasts", to_json(cell.forecasts)},
          {"output", cell.output}};
}

Cell cell_of(const json& object) {
  try {
    Cell cell;
    cell.name = object.value("name", std::string());
    cell.key = {object.at("prompt"), object.at("method"), object.at("round"), object.value("seed", 0)};
    cell.prompt_tokens = object.at("prompt_tokens");
    cell.tokens = object.at("tokens");
    cell.prompt_ms = object.at("prompt_ms");
    cell.decode_ms = object.at("decode_ms");
    SpeculationStatistics& s = cell.speculation;
    s.calls = object.at("calls");
    s.verified_tokens = object.at("verified");
    s.drafted_tokens = object.at("drafted");
    s.accepted_tokens = object.at("accepted");
    s.accepted_per_position = object.at("per_position").get<std::vector<std::int64_t>>();
    s.draft_ms = object.at("draft_ms");
    s.classify_ms = object.value("classify_ms", 0.0);
    s.verify_ms = object.at("verify_ms");
    s.other_ms = object.at("other_ms");
    if (object.contains("forecasts")) cell.forecasts = forecasts_of(object["forecasts"]);
    cell.output = object.at("output");
    return cell;
  } catch (const json::exception& error) {
    throw Error("not a cell: {}", error.what());
  }
}

}  // namespace augur
