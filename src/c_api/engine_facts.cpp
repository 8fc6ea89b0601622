// What an engine tells of itself.
#include <string>
#include <type_traits>

#include "augur/augur.h"
#include "c_api/failure.h"
#include "c_api/handles.h"
#include "c_api/structs.h"

using namespace augur::c_api;

int32_t augur_engine_get_info(const augur_engine* engine, augur_model_info* info) {
  return status([&] {
    const auto used = held(engine);
    const augur::ModelInfo& from = used->info();
    answer({.size = 0,
            .path = from.path.c_str(),
            .family = from.family.c_str(),
            .vocab = from.vocab,
            .context = from.context,
            .weight_bytes = from.weight_bytes,
            .weights = from.weights.c_str(),
            .isa = from.isa.c_str(),
            .law = from.law,
            .threads = from.threads,
            .has_chat_template = from.has_chat_template,
            .end_tokens = from.end_tokens.data(),
            .end_token_count = from.end_tokens.size(),
            .bos_token = from.bos_token.c_str(),
            .eos_token = from.eos_token.c_str(),
            .fingerprint = from.fingerprint.c_str(),
            .hidden = from.hidden,
            .layers = from.layers},
           info, "augur_model_info");
  });
}

int32_t augur_engine_get_infill_tokens(const augur_engine* engine, augur_infill_tokens* tokens) {
  return status([&] {
    const augur::InfillTokens from = held(engine)->infill_tokens();
    answer({.size = 0,
            .prefix = from.prefix.value_or(-1),
            .suffix = from.suffix.value_or(-1),
            .middle = from.middle.value_or(-1),
            .repository = from.repository.value_or(-1),
            .file = from.file.value_or(-1)},
           tokens, "augur_infill_tokens");
  });
}

int64_t augur_engine_speculation(const augur_engine* engine, char* text, size_t capacity) {
  return number([&] { return write_text(augur::to_string(held(engine)->speculation()), text, capacity); });
}

int64_t augur_engine_drafters(const augur_engine* engine, char* text, size_t capacity) {
  return number([&] {
    std::string joined;
    for (const std::string& name : held(engine)->drafters()) joined += (joined.empty() ? "" : ",") + name;
    return write_text(joined, text, capacity);
  });
}

int64_t augur_engine_chat_template(const augur_engine* engine, char* text, size_t capacity) {
  return number([&] { return write_text(held(engine)->chat_template(), text, capacity); });
}
