#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "augur/options.h"

namespace augur {

/// Reads a field that says what the text has to be: OpenAI's response_format, vLLM's structured_outputs and
/// guided_json, guided_regex, guided_grammar, guided_choice, llama.cpp's json_schema and grammar. False: it
/// is none of these. BadRequest for a value that cannot be, or for a second grammar. `body` is the text that
/// `value` was parsed from, as its member `key`.
bool read_grammar_field(const std::string& key, const nlohmann::json& value, std::string_view body,
                        Request& request);

/// "text.format" of OpenAI's Responses API: text, json_object or json_schema.
void read_text_format(const nlohmann::json& value, std::string_view body, Request& request);

/// The JSON schema at a place of the body (a JSON pointer), its members in the order they have there: it is
/// the order in which the answer has its properties. BadRequest naming `field` where there is no schema.
Grammar schema_grammar(const std::string& field, std::string_view body, const std::string& pointer);

/// One of the texts.
Grammar choice_grammar(const std::string& field, const nlohmann::json& texts);

}  // namespace augur
