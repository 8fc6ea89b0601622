#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "server/anthropic/anthropic_request.h"
#include "server/fields/bad_request.h"
#include "server/fields/body_parser.h"
#include "server/openai/openai_request.h"
#include "server/responses/responses_request.h"

namespace {

/// Of a model whose every byte is the same token.
augur::FieldNotes small_notes() {
  augur::FieldNotes notes;
  notes.vocab = 1;
  notes.tokenize = [](std::string_view text) { return std::vector<augur::TokenId>(text.size()); };
  return notes;
}

void read_openai(augur::OpenAiEndpoint endpoint, std::string_view body, const augur::SpeculationPlan& plan) {
  augur::FieldNotes notes = small_notes();
  augur::parse_openai_request(endpoint, augur::parse_body(body, {}), plan, notes);
}

}  // namespace

/// The first byte says which API the rest is for.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  const augur::SpeculationPlan plan;
  augur::FieldNotes notes = small_notes();
  try {
    switch (data[0] % 5) {
      case 0:
        read_openai(augur::OpenAiEndpoint::ChatCompletions, body, plan);
        break;
      case 1:
        read_openai(augur::OpenAiEndpoint::Completions, body, plan);
        break;
      case 2:
        augur::parse_responses_request(body, plan, notes);
        break;
      case 3:
        augur::parse_anthropic_request(augur::AnthropicEndpoint::Messages, body, plan, notes);
        break;
      default:
        augur::parse_anthropic_request(augur::AnthropicEndpoint::CountTokens, body, plan, notes);
    }
  } catch (const augur::BadRequest&) {
  }
  return 0;
}
