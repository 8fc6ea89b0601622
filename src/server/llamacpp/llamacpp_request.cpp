#include "server/llamacpp/llamacpp_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "server/answers/generation_answer.h"
#include "server/fields/foreign_fields.h"
#include "server/fields/grammar_field.h"
#include "server/fields/json_fields.h"
#include "server/llamacpp/infill_prompt.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

/// What a body is read into.
struct Draft {
  LlamaCppRequest to;
  RequestDraft shared;
  ordered_json prompt;
  InfillText infill;
};

Field<Draft> token_limit(std::string_view name) {
  return {{name, FieldType::integer(-1, kMostTokens), "-1: as many as the context holds"},
          [](const FieldValue& v, Draft& to) { to.shared.request.max_tokens = v.integer(); }};
}

Field<Draft> choice_count(std::string_view name) {
  return {{name, FieldType::integer(1, &Limits::choices), "answers to each prompt"},
          [](const FieldValue& v, Draft& to) { to.to.choices = static_cast<int>(v.integer()); }};
}

/// "speculative.n_max" and so on, which say the same as members of "speculative".
FieldTable<Draft> flat_speculative_fields() {
  FieldTable<Draft> table;
  for (const std::string_view name :
       {"speculative.type", "speculative.policy", "speculative.n_max", "speculative.n_min",
        "speculative.p_min", "speculative.topk", "speculative.depth", "speculative.size",
        "speculative.ngram_min", "speculative.ngram_max", "speculative.coupling"}) {
    table.push_back(
        {{name, FieldType::schema(R"({"type": ["string", "number"]})")}, [](const FieldValue& v, Draft& to) {
           to.shared.speculative[v.path.substr(std::string_view("speculative.").size())] = v.json;
         }});
  }
  return table;
}

void read_paths(const FieldValue& value, Draft& to) {
  const std::int64_t most = value.notes.limits.response_fields;
  if (!value.json.is_array() || std::ssize(value.json) > most) {
    unexpected(value.path, fmt::format("a list of at most {} paths", most));
  }
  for (std::size_t i = 0; i < value.json.size(); ++i) {
    to.to.response_fields.push_back(read_string(fmt::format("{}[{}]", value.path, i), value.json[i]));
  }
}

const FieldTable<Draft>& shared_fields() {
  static const auto shared = [](Draft& draft) -> RequestDraft& { return draft.shared; };
  static const FieldTable<Draft> table = joined<Draft>(
      {fields_of<Draft>(sampling_fields(), shared),
       fields_of<Draft>(stop_fields(), shared),
       fields_of<Draft>(grammar_fields(), shared),
       fields_of<Draft>(cache_fields(), shared),
       fields_of<Draft>(answer_fields(), [](Draft& draft) -> AnswerWishes& { return draft.to.wishes; }),
       llamacpp_fields<Draft>(),
       flat_speculative_fields(),
       {token_limit("n_predict"),
        token_limit("max_tokens"),
        choice_count("n"),
        choice_count("n_cmpl"),
        {{"seed", FieldType::integer(-1, std::numeric_limits<std::int64_t>::max()), "-1: any"},
         [](const FieldValue& v, Draft& to) {
           to.shared.seeded = v.integer() >= 0;
           to.shared.request.sampling.seed = static_cast<std::uint64_t>(v.integer());
         }},
        {{"grammar", FieldType::text(), "empty: none"},
         [](const FieldValue& v, Draft& to) {
           if (!v.text().empty()) read_gbnf(v, to.shared);
         }},
        {{"stream", FieldType::boolean()},
         [](const FieldValue& v, Draft& to) { to.to.stream = v.boolean(); }},
        {{"return_tokens", FieldType::boolean()},
         [](const FieldValue& v, Draft& to) { to.to.return_tokens = v.boolean(); }},
        {{"n_probs", FieldType::integer(0, &Limits::logprobs)},
         [](const FieldValue& v, Draft& to) {
           to.shared.request.logprobs = v.integer() > 0 ? static_cast<int>(v.integer()) : -1;
         }},
        {{"post_sampling_probs", FieldType::boolean(),
          "n_probs are of the distribution that tokens are drawn from"},
         [](const FieldValue& v, Draft& to) { to.shared.request.sampled_logprobs = v.boolean(); }},
        {{"response_fields", FieldType::schema(R"({"type": "array", "items": {"type": "string"},
            "maxItems": 64})"),
          "what is answered: names, or paths such as generation_settings/n_predict"},
         read_paths},
        fixed_field<Draft>("samplers", R"([["penalties", "temperature", "top_k", "top_p", "min_p"]])",
                           "the order in which this server has them"),
        fixed_field<Draft>("t_max_predict_ms", "[-1, 0]"),
        ignored_field<Draft>("model", FieldType::text())}});
  return table;
}

const FieldTable<Draft>& completion_fields() {
  static const FieldTable<Draft> table = joined<Draft>(
      {shared_fields(),
       {{{"prompt", FieldType::schema(R"({"oneOf": [{"type": "string"}, {"type": "array", "minItems": 1}]})"),
          "a text, token ids, a list of both, or a list of these", true},
         [](const FieldValue& v, Draft& to) { to.prompt = v.json; }}}});
  return table;
}

void read_extra(const FieldValue& value, Draft& to) {
  if (!value.json.is_array()) unexpected(value.path, "a list of {\"filename\", \"text\"}");
  for (std::size_t i = 0; i < value.json.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", value.path, i);
    const ordered_json& file = value.json[i];
    if (!file.is_object() || !file.contains("text")) unexpected(at, "{\"filename\", \"text\"}");
    to.infill.extra.push_back(
        {.name = file.contains("filename") ? read_string(at + ".filename", file["filename"]) : "tmp",
         .text = read_string(at + ".text", file["text"])});
  }
}

Field<Draft> infill_text(std::string_view name, std::string InfillText::*member) {
  return {{name, FieldType::text()},
          [member](const FieldValue& v, Draft& to) { to.infill.*member = v.text(); }};
}

const FieldTable<Draft>& infill_fields() {
  static const FieldTable<Draft> table =
      joined<Draft>({shared_fields(),
                     {infill_text("input_prefix", &InfillText::prefix),
                      infill_text("input_suffix", &InfillText::suffix),
                      infill_text("prompt", &InfillText::middle),
                      {{"input_extra", FieldType::schema(R"({"type": "array", "items": {"type": "object",
            "properties": {"filename": {"type": "string"}, "text": {"type": "string"}},
            "required": ["text"]}})")},
                       read_extra}}});
  return table;
}

/// llama.cpp's {"prompt_string", "multimodal_data"}, of which there can be text only.
std::string prompt_object(const std::string& field, const ordered_json& value) {
  const auto data = value.find("multimodal_data");
  if (data != value.end() && !data->empty()) {
    throw BadRequest(field + ".multimodal_data", "this server takes text only");
  }
  return read_string(field + ".prompt_string", value.value("prompt_string", ordered_json()));
}

/// A text, token ids, or a list of both: as token ids, with a beginning of sequence where a text begins it.
std::vector<TokenId> prompt_tokens(const Engine& engine, const std::string& field,
                                   const ordered_json& value) {
  if (value.is_object()) return engine.tokenize(prompt_object(field, value));
  const ordered_json list = value.is_array() ? value : ordered_json::array({value});
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
      unexpected(field, "a text, a list of token ids, a list of both, or a list of these");
    }
  }
  return tokens;
}

/// A list with a number in it is one prompt; any other list is several.
std::vector<std::vector<TokenId>> all_prompts(const Engine& engine, const ordered_json& value,
                                              const Limits& limits) {
  const auto is_number = [](const ordered_json& item) { return item.is_number(); };
  if (!value.is_array() || std::any_of(value.begin(), value.end(), is_number)) {
    return {prompt_tokens(engine, "prompt", value)};
  }
  if (value.empty() || std::ssize(value) > limits.prompts) {
    unexpected("prompt", fmt::format("1 to {} prompts", limits.prompts));
  }
  std::vector<std::vector<TokenId>> prompts;
  for (std::size_t i = 0; i < value.size(); ++i) {
    prompts.push_back(prompt_tokens(engine, fmt::format("prompt[{}]", i), value[i]));
  }
  return prompts;
}

Draft begin_draft(const RequestDefaults& defaults) {
  Draft draft;
  draft.shared.request = llamacpp_defaults({});
  lay_defaults(defaults, draft.shared);
  return draft;
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): what is in `prompts` is moved out of it
LlamaCppRequest finish(const Engine& engine, Draft& draft, const SpeculationPlan& plan, const Limits& limits,
                       std::vector<std::vector<TokenId>> prompts) {
  LlamaCppRequest& to = draft.to;
  Request shared = finish_draft(draft.shared, plan);
  check_stop_bytes("stop", shared.stop, prompts.size() * static_cast<std::size_t>(to.choices), limits);
  for (std::vector<TokenId>& tokens : prompts) {
    Request& request = to.requests.emplace_back(shared);
    request.prompt_tokens = std::move(tokens);
    tokenize_prompt(engine, request);
    to.prompts.push_back(engine.detokenize(request.prompt_tokens, true));
  }
  return std::move(to);
}

}  // namespace

Request llamacpp_defaults(const RequestDefaults& defaults) {
  Request to{.sampling = {.temperature = 0.8, .top_k = 40, .top_p = 0.95, .min_p = 0.05}};
  defaults.apply(to);
  return to;
}

LlamaCppRequest parse_completion(const Engine& engine, std::string_view text, const SpeculationPlan& plan,
                                 FieldNotes& notes) {
  Draft draft = begin_draft(notes.defaults);
  read_object(completion_fields(), "", parse_body(text, notes.limits), notes, draft);
  return finish(engine, draft, plan, notes.limits, all_prompts(engine, draft.prompt, notes.limits));
}

LlamaCppRequest parse_infill(const Engine& engine, std::string_view body, const SpeculationPlan& plan,
                             FieldNotes& notes) {
  Draft draft = begin_draft(notes.defaults);
  read_object(infill_fields(), "", parse_body(body, notes.limits), notes, draft);
  const std::optional<InfillTokens> known = infill_tokens(engine);
  if (!known) throw Problem(501, "the model has no tokens for infilling");
  return finish(engine, draft, plan, notes.limits, {infill_prompt(engine, *known, draft.infill)});
}

ordered_json completion_schema() {
  return object_schema(specs_of(completion_fields()));
}
ordered_json infill_schema() {
  return object_schema(specs_of(infill_fields()));
}

}  // namespace augur
