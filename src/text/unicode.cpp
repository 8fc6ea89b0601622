#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"

namespace augur {

bool is_white_space(char32_t code) {
  return (code >= 0x09 && code <= 0x0D) || code == 0x20 || code == 0x85 || code == 0xA0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F ||
         code == 0x205F || code == 0x3000;
}

bool is_word_character(char32_t code) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO) ||
         category == UTF8PROC_CATEGORY_PC;
}

namespace {

int combining_class(utf8proc_int32_t code) {
  return static_cast<int>(utf8proc_get_property(code)->combining_class);
}

// Canonical ordering as one stable sort per run of marks. utf8proc's own reordering is an insertion sort,
// which a text of nothing but alternating marks makes quadratic.
void order_marks(std::vector<utf8proc_int32_t>& codes) {
  auto begin = codes.begin();
  while (begin != codes.end()) {
    if (combining_class(*begin) == 0) {
      ++begin;
      continue;
    }
    auto end = begin;
    while (end != codes.end() && combining_class(*end) != 0) ++end;
    std::stable_sort(begin, end, [](auto a, auto b) { return combining_class(a) < combining_class(b); });
    begin = end;
  }
}

void append_normalized(std::string& out, std::string_view valid, NormalForm form) {
  const bool compose = form == NormalForm::Nfc || form == NormalForm::Nfkc;
  const bool compatibility = form == NormalForm::Nfkc || form == NormalForm::Nfkd;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                      (compatibility ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t> codes;
  codes.reserve(valid.size());
  std::array<utf8proc_int32_t, 32> buffer;  // the longest decomposition has 18 code points
  for (std::size_t position = 0; position < valid.size();) {
    const DecodedCharacter c = decode_utf8(valid, position);
    int boundary = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c.code), buffer.data(),
                                               buffer.size(), options, &boundary);
    if (count < 0 || count > static_cast<utf8proc_ssize_t>(buffer.size()))
      throw Error("cannot normalise U+{:04X}", static_cast<std::uint32_t>(c.code));
    codes.insert(codes.end(), buffer.begin(), buffer.begin() + count);
    position += c.length;
  }
  order_marks(codes);
  auto length = static_cast<utf8proc_ssize_t>(codes.size());
  if (compose) {
    length = utf8proc_normalize_utf32(codes.data(), length,
                                      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    if (length < 0) throw Error("cannot normalise a text: {}", utf8proc_errmsg(length));
  }
  for (utf8proc_ssize_t i = 0; i < length; ++i) append_utf8(out, static_cast<char32_t>(codes[i]));
}

}  // namespace

std::string normalize_utf8(std::string_view text, NormalForm form) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
    return std::string(text);
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t valid = valid_utf8_prefix(text);
    append_normalized(out, text.substr(0, valid), form);
    text.remove_prefix(valid);
    if (text.empty()) break;
    const std::size_t bad = decode_utf8(text, 0).length;
    out.append(text.substr(0, bad));
    text.remove_prefix(bad);
  }
  return out;
}

}  // namespace augur
