#pragma once
#include "server/fields/field_table.h"

// Fields of other servers, which clients send though they ask for nothing that is not so here. The values
// that ask for more are refused.

namespace augur {

/// Who asks, and how the asked one is to keep and bill it.
template <class T>
FieldTable<T> caller_fields() {
  return {ignored_field<T>("user", FieldType::text()),
          ignored_field<T>("metadata", FieldType::schema(R"({"type": "object"})")),
          ignored_field<T>("store", FieldType::boolean(), "nothing is stored"),
          ignored_field<T>("safety_identifier", FieldType::text()),
          ignored_field<T>("prompt_cache_key", FieldType::text(), "every prompt is cached"),
          ignored_field<T>("prompt_cache_retention", FieldType::text()),
          ignored_field<T>("service_tier", FieldType::text())};
}

/// OpenAI's for what its other models do.
template <class T>
FieldTable<T> openai_chat_fields() {
  return {fixed_field<T>("modalities", R"([["text"]])"),
          fixed_field<T>("verbosity", R"(["medium"])"),
          fixed_field<T>("functions", "[[]]", "use tools"),
          fixed_field<T>("function_call", R"(["none", "auto"])", "use tool_choice"),
          absent_field<T>("audio"),
          absent_field<T>("prediction"),
          absent_field<T>("web_search_options")};
}

/// vLLM's.
template <class T>
FieldTable<T> vllm_fields() {
  return {fixed_field<T>("min_tokens", "[0]"),
          fixed_field<T>("best_of", "[1]"),
          fixed_field<T>("stop_token_ids", "[[]]"),
          fixed_field<T>("length_penalty", "[1]"),
          fixed_field<T>("use_beam_search", "[false]"),
          fixed_field<T>("include_stop_str_in_output", "[false]"),
          fixed_field<T>("spaces_between_special_tokens", "[true]"),
          fixed_field<T>("return_tokens_as_token_ids", "[false]"),
          fixed_field<T>("return_token_ids", "[false]"),
          fixed_field<T>("chat_template_kwargs", "[{}]"),
          ignored_field<T>("request_id", FieldType::text(), "say X-Request-Id"),
          absent_field<T>("truncate_prompt_tokens"),
          absent_field<T>("prompt_logprobs"),
          absent_field<T>("chat_template"),
          absent_field<T>("documents"),
          absent_field<T>("bad_words"),
          absent_field<T>("allowed_token_ids")};
}

/// llama.cpp's samplers, switched off, and what shapes them.
template <class T>
FieldTable<T> llamacpp_fields() {
  const FieldType any = FieldType::schema("{}");
  return {fixed_field<T>("dynatemp_range", "[0]"),
          fixed_field<T>("typical_p", "[1]"),
          fixed_field<T>("xtc_probability", "[0]"),
          fixed_field<T>("dry_multiplier", "[0]"),
          fixed_field<T>("mirostat", "[0]"),
          fixed_field<T>("top_n_sigma", "[-1]"),
          fixed_field<T>("adaptive_target", "[-1]"),
          fixed_field<T>("n_keep", "[0, -1]"),
          fixed_field<T>("n_indent", "[0]"),
          fixed_field<T>("min_keep", "[0]"),
          fixed_field<T>("n_discard", "[0]"),
          fixed_field<T>("n_cache_reuse", "[0]"),
          fixed_field<T>("t_max_prompt_ms", "[-1, 0]"),
          fixed_field<T>("lora", "[[]]"),
          ignored_field<T>("dynatemp_exponent", any, "shapes what is off"),
          ignored_field<T>("xtc_threshold", any, "shapes what is off"),
          ignored_field<T>("dry_base", any, "shapes what is off"),
          ignored_field<T>("dry_allowed_length", any, "shapes what is off"),
          ignored_field<T>("dry_penalty_last_n", any, "shapes what is off"),
          ignored_field<T>("dry_sequence_breakers", any, "shapes what is off"),
          ignored_field<T>("adaptive_decay", any, "shapes what is off"),
          ignored_field<T>("mirostat_tau", any, "shapes what is off"),
          ignored_field<T>("mirostat_eta", any, "shapes what is off")};
}

}  // namespace augur
