// Texts and tokens.
#include <string>
#include <string_view>
#include <vector>

#include "augur/augur.h"
#include "c_api/failure.h"
#include "c_api/handles.h"
#include "c_api/request.h"
#include "c_api/structs.h"

using namespace augur::c_api;

namespace {

/// Error for flags that are not among `known`.
void check_flags(int32_t flags, int32_t known) {
  if ((flags & ~known) != 0)
    throw augur::Error(augur::refused("flags"), "flags are {:#x}: expected a sum of some of {:#x}", flags,
                       known);
}

}  // namespace

int64_t augur_tokenize(const augur_engine* engine, const char* text, int32_t* tokens, size_t capacity) {
  return number([&] { return write_tokens(held(engine)->tokenize(text_or_empty(text)), tokens, capacity); });
}

int64_t augur_detokenize(const augur_engine* engine, const int32_t* tokens, size_t count, char* text,
                         size_t capacity) {
  return augur_detokenize_tokens(engine, tokens, count, 0, text, capacity);
}

int64_t augur_tokenize_text(const augur_engine* engine, const char* text, size_t length, int32_t flags,
                            int32_t* tokens, size_t capacity) {
  return number([&] {
    const auto used = held(engine);
    check_flags(flags, AUGUR_TEXT_PART | AUGUR_TEXT_PLAIN);
    const auto given = array("text", text, length);
    const std::string_view view(given.data(), given.size());
    const bool special = (flags & AUGUR_TEXT_PLAIN) == 0;
    return write_tokens(
        (flags & AUGUR_TEXT_PART) != 0 ? used->tokenize_part(view, special) : used->tokenize(view, special),
        tokens, capacity);
  });
}

int64_t augur_detokenize_tokens(const augur_engine* engine, const int32_t* tokens, size_t count,
                                int32_t flags, char* text, size_t capacity) {
  return number([&] {
    const auto used = held(engine);
    check_flags(flags, AUGUR_TEXT_SHOW_SPECIAL);
    return write_text(used->detokenize(array("tokens", tokens, count), flags != 0), text, capacity);
  });
}

int64_t augur_token_bytes(const augur_engine* engine, int32_t token, char* bytes, size_t capacity) {
  return number([&] { return write_text(held(engine)->token_bytes(token), bytes, capacity); });
}

int64_t augur_render_chat(const augur_engine* engine, const augur_request* request, char* text,
                          size_t capacity) {
  return number(
      [&] { return write_text(held(engine)->render_chat(asked_by(request).request), text, capacity); });
}

int64_t augur_prompt_tokens(const augur_engine* engine, const augur_request* request, int32_t* tokens,
                            size_t capacity) {
  return number(
      [&] { return write_tokens(held(engine)->prompt_tokens(asked_by(request).request), tokens, capacity); });
}
