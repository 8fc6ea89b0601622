#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "augur/options.h"
#include "server/fields/request_fields.h"

namespace augur {

/// "text.format" of OpenAI's Responses API, and "output_config.format" of Anthropic's: text, json_object or
/// json_schema.
void read_text_format(const FieldValue& value, Request& request);

/// llama.cpp's "grammar".
void read_gbnf(const FieldValue& value, RequestDraft& to);

/// A JSON schema, its members in the order they have in the text: it is the order in which the answer has its
/// properties. BadRequest naming `field` where there is none.
Grammar schema_grammar(const std::string& field, const nlohmann::ordered_json& value);

/// One of the texts.
Grammar choice_grammar(const std::string& field, const nlohmann::ordered_json& texts);

}  // namespace augur
