#include "text/tokenizer/check_gguf.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "base/error.h"
#include "base/utf8.h"
#include "text/tokenizer/gguf_token_type.h"
#include "text/tokenizer/turns.h"

namespace augur {
namespace {

// Words at the start, composed and decomposed letters, compatibility forms, digits, white space, apostrophes,
// marks, scripts, bytes that are no text.
constexpr std::string_view kTexts[] = {
    "Hello world",
    " Hello",
    "  two  spaces  ",
    "\xC3\xA9t\xC3\xA9 e\xCC\x81te\xCC\x81 \xE2\x84\xAB",
    "\xEF\xAC\x81n \xEF\xBC\xA1 \xC4\xB0I \xC2\xBD",
    "0 12 345 6789 in 2024, 3.14x10",
    "don't DON'T we'll 's",
    "\ta\n\n b\r\n \n  \n",
    "f(x)={y[0]};//--_z <a href=\"#\">$5+%",
    "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E \xD0\xA0\xD1\x83\xD1\x81 \xE0\xA4\xB9\xE0\xA4\xBF",
    "\xF0\x9F\x99\x82\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x94\xAC",
    "\xC2\xA0x\xE2\x80\x8By\xE3\x80\x80",
    "a\xFF\xC3 b"};

void check_tokens(const GgufVocabulary& vocabulary, const Tokenizer& original, const Tokenizer& written) {
  if (written.vocab_size() != original.vocab_size())
    throw Error("{}: in GGUF it would have {} tokens instead of {}", vocabulary.file, written.vocab_size(),
                original.vocab_size());
  for (TokenId id = 0; id < original.vocab_size(); ++id) {
    const std::string bytes = original.token_bytes(id);
    if (bytes.empty() && vocabulary.token_types[static_cast<std::size_t>(id)] == kUnused) continue;  // a gap
    const bool kind_kept = written.is_special(id) == original.is_special(id) || is_end_of_any_type(bytes);
    if (written.token_bytes(id) != bytes || !kind_kept)
      throw Error(ErrorKind::Unsupported, "{}: token {} ({:?}) would be another in GGUF", vocabulary.file, id,
                  to_valid_utf8(bytes));
  }
  if (written.strips_leading_space() != original.strips_leading_space())
    throw Error(ErrorKind::Unsupported, "{}: GGUF cannot say whether decoding drops a leading space",
                vocabulary.file);
}

}  // namespace

void check_gguf_vocabulary(const GgufVocabulary& vocabulary, const Tokenizer& original) {
  const auto written = load_gguf_tokenizer(vocabulary);
  check_tokens(vocabulary, original, *written);
  const auto check = [&](std::string_view text) {
    const auto expected = original.encode(text);
    const auto found = written->encode(text);
    if (found == expected) return;
    const auto shown = [](const std::vector<TokenId>& ids) {
      constexpr std::size_t kShown = 12;
      return fmt::format("{}", fmt::join(std::span(ids).first(std::min(ids.size(), kShown)), " "));
    };
    throw Error(ErrorKind::Unsupported,
                "{}: GGUF has no words for this tokenizer: there {:?} would become {} instead of {}",
                vocabulary.file, to_valid_utf8(text), shown(found), shown(expected));
  };
  for (const std::string_view text : kTexts) check(text);
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string text = original.token_bytes(static_cast<TokenId>(id));
    check(text);
    if (!original.is_special(static_cast<TokenId>(id)) && vocabulary.token_types[id] != kUserDefined)
      continue;
    check("x" + text + "y" + text + " z");
    check("x " + text + " " + text + "\n");
  }
}

}  // namespace augur
