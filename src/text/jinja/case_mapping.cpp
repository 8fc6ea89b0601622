#include "text/jinja/case_mapping.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace augur::jinja {
namespace {

/// A character whose large form has several characters, from Unicode's SpecialCasing.txt and the
/// decompositions that Python 3 uses. Zeros are not there.
struct Expansion {
  std::uint16_t code;
  std::array<std::uint16_t, 3> upper;
  std::array<std::uint16_t, 3> title;
};

// clang-format off
constexpr std::array kExpansions = {
    Expansion{0x00DF, {0x0053, 0x0053}, {0x0053, 0x0073}},
    Expansion{0x0149, {0x02BC, 0x004E}, {0x02BC, 0x004E}},
    Expansion{0x01F0, {0x004A, 0x030C}, {0x004A, 0x030C}},
    Expansion{0x0390, {0x0399, 0x0308, 0x0301}, {0x0399, 0x0308, 0x0301}},
    Expansion{0x03B0, {0x03A5, 0x0308, 0x0301}, {0x03A5, 0x0308, 0x0301}},
    Expansion{0x0587, {0x0535, 0x0552}, {0x0535, 0x0582}},
    Expansion{0x1E96, {0x0048, 0x0331}, {0x0048, 0x0331}},
    Expansion{0x1E97, {0x0054, 0x0308}, {0x0054, 0x0308}},
    Expansion{0x1E98, {0x0057, 0x030A}, {0x0057, 0x030A}},
    Expansion{0x1E99, {0x0059, 0x030A}, {0x0059, 0x030A}},
    Expansion{0x1E9A, {0x0041, 0x02BE}, {0x0041, 0x02BE}},
    Expansion{0x1F50, {0x03A5, 0x0313}, {0x03A5, 0x0313}},
    Expansion{0x1F52, {0x03A5, 0x0313, 0x0300}, {0x03A5, 0x0313, 0x0300}},
    Expansion{0x1F54, {0x03A5, 0x0313, 0x0301}, {0x03A5, 0x0313, 0x0301}},
    Expansion{0x1F56, {0x03A5, 0x0313, 0x0342}, {0x03A5, 0x0313, 0x0342}},
    Expansion{0x1F80, {0x1F08, 0x0399}, {0x1F88}},
    Expansion{0x1F81, {0x1F09, 0x0399}, {0x1F89}},
    Expansion{0x1F82, {0x1F0A, 0x0399}, {0x1F8A}},
    Expansion{0x1F83, {0x1F0B, 0x0399}, {0x1F8B}},
    Expansion{0x1F84, {0x1F0C, 0x0399}, {0x1F8C}},
    Expansion{0x1F85, {0x1F0D, 0x0399}, {0x1F8D}},
    Expansion{0x1F86, {0x1F0E, 0x0399}, {0x1F8E}},
    Expansion{0x1F87, {0x1F0F, 0x0399}, {0x1F8F}},
    Expansion{0x1F88, {0x1F08, 0x0399}, {0x1F88}},
    Expansion{0x1F89, {0x1F09, 0x0399}, {0x1F89}},
    Expansion{0x1F8A, {0x1F0A, 0x0399}, {0x1F8A}},
    Expansion{0x1F8B, {0x1F0B, 0x0399}, {0x1F8B}},
    Expansion{0x1F8C, {0x1F0C, 0x0399}, {0x1F8C}},
    Expansion{0x1F8D, {0x1F0D, 0x0399}, {0x1F8D}},
    Expansion{0x1F8E, {0x1F0E, 0x0399}, {0x1F8E}},
    Expansion{0x1F8F, {0x1F0F, 0x0399}, {0x1F8F}},
    Expansion{0x1F90, {0x1F28, 0x0399}, {0x1F98}},
    Expansion{0x1F91, {0x1F29, 0x0399}, {0x1F99}},
    Expansion{0x1F92, {0x1F2A, 0x0399}, {0x1F9A}},
    Expansion{0x1F93, {0x1F2B, 0x0399}, {0x1F9B}},
    Expansion{0x1F94, {0x1F2C, 0x0399}, {0x1F9C}},
    Expansion{0x1F95, {0x1F2D, 0x0399}, {0x1F9D}},
    Expansion{0x1F96, {0x1F2E, 0x0399}, {0x1F9E}},
    Expansion{0x1F97, {0x1F2F, 0x0399}, {0x1F9F}},
    Expansion{0x1F98, {0x1F28, 0x0399}, {0x1F98}},
    Expansion{0x1F99, {0x1F29, 0x0399}, {0x1F99}},
    Expansion{0x1F9A, {0x1F2A, 0x0399}, {0x1F9A}},
    Expansion{0x1F9B, {0x1F2B, 0x0399}, {0x1F9B}},
    Expansion{0x1F9C, {0x1F2C, 0x0399}, {0x1F9C}},
    Expansion{0x1F9D, {0x1F2D, 0x0399}, {0x1F9D}},
    Expansion{0x1F9E, {0x1F2E, 0x0399}, {0x1F9E}},
    Expansion{0x1F9F, {0x1F2F, 0x0399}, {0x1F9F}},
    Expansion{0x1FA0, {0x1F68, 0x0399}, {0x1FA8}},
    Expansion{0x1FA1, {0x1F69, 0x0399}, {0x1FA9}},
    Expansion{0x1FA2, {0x1F6A, 0x0399}, {0x1FAA}},
    Expansion{0x1FA3, {0x1F6B, 0x0399}, {0x1FAB}},
    Expansion{0x1FA4, {0x1F6C, 0x0399}, {0x1FAC}},
    Expansion{0x1FA5, {0x1F6D, 0x0399}, {0x1FAD}},
    Expansion{0x1FA6, {0x1F6E, 0x0399}, {0x1FAE}},
    Expansion{0x1FA7, {0x1F6F, 0x0399}, {0x1FAF}},
    Expansion{0x1FA8, {0x1F68, 0x0399}, {0x1FA8}},
    Expansion{0x1FA9, {0x1F69, 0x0399}, {0x1FA9}},
    Expansion{0x1FAA, {0x1F6A, 0x0399}, {0x1FAA}},
    Expansion{0x1FAB, {0x1F6B, 0x0399}, {0x1FAB}},
    Expansion{0x1FAC, {0x1F6C, 0x0399}, {0x1FAC}},
    Expansion{0x1FAD, {0x1F6D, 0x0399}, {0x1FAD}},
    Expansion{0x1FAE, {0x1F6E, 0x0399}, {0x1FAE}},
    Expansion{0x1FAF, {0x1F6F, 0x0399}, {0x1FAF}},
    Expansion{0x1FB2, {0x1FBA, 0x0399}, {0x1FBA, 0x0345}},
    Expansion{0x1FB3, {0x0391, 0x0399}, {0x1FBC}},
    Expansion{0x1FB4, {0x0386, 0x0399}, {0x0386, 0x0345}},
    Expansion{0x1FB6, {0x0391, 0x0342}, {0x0391, 0x0342}},
    Expansion{0x1FB7, {0x0391, 0x0342, 0x0399}, {0x0391, 0x0342, 0x0345}},
    Expansion{0x1FBC, {0x0391, 0x0399}, {0x1FBC}},
    Expansion{0x1FC2, {0x1FCA, 0x0399}, {0x1FCA, 0x0345}},
    Expansion{0x1FC3, {0x0397, 0x0399}, {0x1FCC}},
    Expansion{0x1FC4, {0x0389, 0x0399}, {0x0389, 0x0345}},
    Expansion{0x1FC6, {0x0397, 0x0342}, {0x0397, 0x0342}},
    Expansion{0x1FC7, {0x0397, 0x0342, 0x0399}, {0x0397, 0x0342, 0x0345}},
    Expansion{0x1FCC, {0x0397, 0x0399}, {0x1FCC}},
    Expansion{0x1FD2, {0x0399, 0x0308, 0x0300}, {0x0399, 0x0308, 0x0300}},
    Expansion{0x1FD3, {0x0399, 0x0308, 0x0301}, {0x0399, 0x0308, 0x0301}},
    Expansion{0x1FD6, {0x0399, 0x0342}, {0x0399, 0x0342}},
    Expansion{0x1FD7, {0x0399, 0x0308, 0x0342}, {0x0399, 0x0308, 0x0342}},
    Expansion{0x1FE2, {0x03A5, 0x0308, 0x0300}, {0x03A5, 0x0308, 0x0300}},
    Expansion{0x1FE3, {0x03A5, 0x0308, 0x0301}, {0x03A5, 0x0308, 0x0301}},
    Expansion{0x1FE4, {0x03A1, 0x0313}, {0x03A1, 0x0313}},
    Expansion{0x1FE6, {0x03A5, 0x0342}, {0x03A5, 0x0342}},
    Expansion{0x1FE7, {0x03A5, 0x0308, 0x0342}, {0x03A5, 0x0308, 0x0342}},
    Expansion{0x1FF2, {0x1FFA, 0x0399}, {0x1FFA, 0x0345}},
    Expansion{0x1FF3, {0x03A9, 0x0399}, {0x1FFC}},
    Expansion{0x1FF4, {0x038F, 0x0399}, {0x038F, 0x0345}},
    Expansion{0x1FF6, {0x03A9, 0x0342}, {0x03A9, 0x0342}},
    Expansion{0x1FF7, {0x03A9, 0x0342, 0x0399}, {0x03A9, 0x0342, 0x0345}},
    Expansion{0x1FFC, {0x03A9, 0x0399}, {0x1FFC}},
    Expansion{0xFB00, {0x0046, 0x0046}, {0x0046, 0x0066}},
    Expansion{0xFB01, {0x0046, 0x0049}, {0x0046, 0x0069}},
    Expansion{0xFB02, {0x0046, 0x004C}, {0x0046, 0x006C}},
    Expansion{0xFB03, {0x0046, 0x0046, 0x0049}, {0x0046, 0x0066, 0x0069}},
    Expansion{0xFB04, {0x0046, 0x0046, 0x004C}, {0x0046, 0x0066, 0x006C}},
    Expansion{0xFB05, {0x0053, 0x0054}, {0x0053, 0x0074}},
    Expansion{0xFB06, {0x0053, 0x0054}, {0x0053, 0x0074}},
    Expansion{0xFB13, {0x0544, 0x0546}, {0x0544, 0x0576}},
    Expansion{0xFB14, {0x0544, 0x0535}, {0x0544, 0x0565}},
    Expansion{0xFB15, {0x0544, 0x053B}, {0x0544, 0x056B}},
    Expansion{0xFB16, {0x054E, 0x0546}, {0x054E, 0x0576}},
    Expansion{0xFB17, {0x0544, 0x053D}, {0x0544, 0x056D}},
};
// clang-format on

const Expansion* find_expansion(char32_t code) {
  const auto found = std::lower_bound(kExpansions.begin(), kExpansions.end(), code,
                                      [](const Expansion& e, char32_t c) { return e.code < c; });
  return found != kExpansions.end() && found->code == code ? &*found : nullptr;
}

void append(const std::array<std::uint16_t, 3>& codes, std::string& to) {
  for (const std::uint16_t code : codes)
    if (code != 0) append_utf8(to, code);
}

std::string large(char32_t code, std::array<std::uint16_t, 3> Expansion::*form,
                  utf8proc_int32_t (*simple)(utf8proc_int32_t)) {
  std::string out;
  if (const Expansion* expansion = find_expansion(code))
    append(expansion->*form, out);
  else
    append_utf8(out, static_cast<char32_t>(simple(static_cast<utf8proc_int32_t>(code))));
  return out;
}

bool is_cased(char32_t code) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LT;
}

/// Unicode's Case_Ignorable, nearly: marks, modifiers, format characters, and what stands inside words.
bool is_ignorable(char32_t code) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return code == U'\'' || code == U'.' || code == U':' || code == 0xB7 || code == 0x2019;
  }
}

/// Whether the sigma at `at` ends a word: it is written in another way then.
bool is_final_sigma(std::string_view text, std::size_t at, bool after_cased) {
  if (!after_cased) return false;
  for (std::size_t next = at + 2; next < text.size();) {
    const DecodedCharacter c = decode_utf8(text, next);
    if (!is_ignorable(c.code)) return !is_cased(c.code);
    next += c.length;
  }
  return true;
}

std::string small(std::string_view text, std::size_t at, char32_t code, bool after_cased) {
  constexpr char32_t kSigma = 0x3A3, kFinalSigma = 0x3C2, kDottedI = 0x130;
  std::string out;
  if (code == kSigma && is_final_sigma(text, at, after_cased)) {
    append_utf8(out, kFinalSigma);
  } else if (code == kDottedI) {
    out = "i\xCC\x87";
  } else {
    append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code))));
  }
  return out;
}

template <class Add>
void for_upper(std::string_view text, const Add& add) {
  for (std::size_t at = 0; at < text.size();) {
    const DecodedCharacter c = decode_utf8(text, at);
    add(at, c.length, large(c.code, &Expansion::upper, utf8proc_toupper));
    at += c.length;
  }
}

template <class Add>
void for_lower(std::string_view text, const Add& add) {
  bool after_cased = false;
  for (std::size_t at = 0; at < text.size();) {
    const DecodedCharacter c = decode_utf8(text, at);
    add(at, c.length, small(text, at, c.code, after_cased));
    if (!is_ignorable(c.code)) after_cased = is_cased(c.code);
    at += c.length;
  }
}

}  // namespace

std::string upper(std::string_view text) {
  std::string out;
  for_upper(text, [&](std::size_t, std::size_t, const std::string& mapped) { out += mapped; });
  return out;
}

std::string lower(std::string_view text) {
  std::string out;
  for_lower(text, [&](std::size_t, std::size_t, const std::string& mapped) { out += mapped; });
  return out;
}

std::string title_letter(std::string_view character) {
  return large(decode_utf8(character, 0).code, &Expansion::title, utf8proc_totitle);
}

void add_upper(const Text& text, TextBuilder& to) {
  for_upper(text.bytes(), [&](std::size_t at, std::size_t length, const std::string& mapped) {
    to.add(mapped, text.part(at, length).any_client());
  });
}

void add_lower(const Text& text, TextBuilder& to) {
  for_lower(text.bytes(), [&](std::size_t at, std::size_t length, const std::string& mapped) {
    to.add(mapped, text.part(at, length).any_client());
  });
}

}  // namespace augur::jinja
