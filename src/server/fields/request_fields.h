#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "augur/engine.h"
#include "augur/options.h"
#include "server/fields/field_table.h"
#include "server/limits.h"

namespace augur {

/// That a request may ask for: more than any context holds.
inline constexpr std::int64_t kMostTokens = std::int64_t{1} << 31;

/// What the fields are read into that all APIs share.
struct RequestDraft {
  Request request;
  nlohmann::ordered_json speculative = nlohmann::ordered_json::object();
  bool seeded = false;
};

/// How tokens are drawn and by what they are proposed: OpenAI's names, and vLLM's and llama.cpp's for what
/// OpenAI has not.
const FieldTable<RequestDraft>& sampling_fields();
/// "stop" as OpenAI has it.
const FieldTable<RequestDraft>& stop_fields();
/// What the text has to be: OpenAI's response_format, vLLM's structured_outputs and guided_json,
/// guided_regex, guided_grammar, guided_choice, llama.cpp's json_schema and grammar.
const FieldTable<RequestDraft>& grammar_fields();
/// What may be taken over of a text that was read before.
const FieldTable<RequestDraft>& cache_fields();

/// Lays the server's defaults over what the draft's API has.
void lay_defaults(const RequestDefaults& defaults, RequestDraft& draft);

/// The draft's request: with a seed where it names none, and with its plan laid over `plan`. BadRequest for
/// what is no plan.
Request finish_draft(const RequestDraft& draft, const SpeculationPlan& plan);

/// Texts that end the answer: one, or a list. BadRequest for an empty one, and for more than the limits
/// allow.
std::vector<std::string> read_stops(const std::string& field, const nlohmann::ordered_json& value,
                                    const Limits& limits);
/// BadRequest naming `field` where a request's stop strings, held once for each of its answers, take more
/// than the limits allow.
void check_stop_bytes(const std::string& field, const std::vector<std::string>& stops, std::size_t answers,
                      const Limits& limits);

/// A seed for requests without one, below 2^53 so that JSON carries it.
std::uint64_t any_seed();

}  // namespace augur
