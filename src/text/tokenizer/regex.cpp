#include "text/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>

#include "base/error.h"
#include "base/utf8.h"
#include "text/tokenizer/regex_syntax.h"

namespace augur {
namespace {

std::string error_text(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

// What a search may cost, in PCRE2's match steps, which are counted anew where a match may begin. Few are
// free: the expressions of published tokenizers take about 10 for a word. What a start needs beyond is paid
// for by the whole text: long runs of spaces or capitals do, at most 2.7 a byte.
constexpr std::uint64_t kFreeSteps = 64;
constexpr std::uint64_t kStepsOfAText = 1 << 17;
constexpr std::uint64_t kStepsOfAByte = 16;

// One step may run over any number of characters of a class, so what a start sees is bounded, too: the bytes
// of a window. A match that wants to look beyond its end (PCRE2_PARTIAL_HARD tells) gets a larger one, which
// the whole text pays for. A match of n bytes pays 4 n at most.
constexpr std::size_t kFreeWindow = 256;
constexpr std::uint64_t kWindowsOfAText = 1 << 20;
constexpr std::uint64_t kWindowsOfAByte = 32;

/// The first `size` bytes from `begin` on, and the rest of the character that they end in.
std::size_t window_end(std::string_view text, std::size_t begin, std::size_t size) {
  std::size_t end = text.size() - begin <= size ? text.size() : begin + size;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return end;
}

}  // namespace

struct Regex::Code {
  pcre2_code* code = nullptr;
  ~Code() { pcre2_code_free(code); }
};

Regex::Regex(std::string_view pattern, const std::string& where)
    : code_(std::make_unique<Code>()), where_(where) {
  if (valid_utf8_prefix(pattern) != pattern.size()) throw Error("{}: the pattern is not valid UTF-8", where);
  std::string spelt;
  try {
    spelt = pcre2_pattern(pattern);
  } catch (const std::invalid_argument& error) {
    throw Error("{}: malformed pattern \"{}\": {}", where, pattern, error.what());
  }
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(spelt.data()), spelt.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                              &offset, nullptr);
  if (code_->code == nullptr)
    throw Error("{}: malformed pattern \"{}\": {}", where, pattern, error_text(error));
  // Where executable memory is not allowed this fails, and matching falls back to the interpreter.
  pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

void Regex::split(std::string_view text, std::vector<RegexSpan>& out) const {
  Matcher(*this).split(text, out);
}

struct Regex::Matcher::Memory {
  pcre2_match_data* data = nullptr;
  pcre2_match_context* context = nullptr;
  ~Memory() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
  }
};

Regex::Matcher::Matcher(const Regex& regex)
    : memory_(std::make_unique<Memory>()), regex_(regex), steps_(kStepsOfAText), windows_(kWindowsOfAText) {
  memory_->data = pcre2_match_data_create(1, nullptr);
  memory_->context = pcre2_match_context_create(nullptr);
  if (memory_->data == nullptr || memory_->context == nullptr) throw std::bad_alloc();
  pcre2_set_heap_limit(memory_->context, 1 << 20);  // KiB
}

Regex::Matcher::~Matcher() = default;

void Regex::Matcher::split(std::string_view text, std::vector<RegexSpan>& out) {
  steps_ += kStepsOfAByte * text.size();
  windows_ += kWindowsOfAByte * text.size();
  while (!text.empty()) {
    const std::size_t valid = valid_utf8_prefix(text);
    if (valid > 0) split_valid(text.substr(0, valid), out);
    text.remove_prefix(valid);
    std::size_t bad = 0;
    while (bad < text.size()) {
      const DecodedCharacter c = decode_utf8(text, bad);
      if (c.valid) break;
      bad += c.length;
    }
    if (bad > 0) out.push_back({text.substr(0, bad), false, false});
    text.remove_prefix(bad);
  }
}

int Regex::Matcher::match(std::string_view text, std::size_t begin, std::size_t end, std::uint32_t options,
                          std::uint64_t steps) {
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  pcre2_set_match_limit(memory_->context,
                        static_cast<std::uint32_t>(std::min<std::uint64_t>(steps, UINT32_MAX)));
  options |= PCRE2_NO_UTF_CHECK;
  if (end < text.size()) options |= PCRE2_PARTIAL_HARD;
  const int found =
      pcre2_match(regex_.code_->code, subject, end, begin, options, memory_->data, memory_->context);
  if (found != PCRE2_ERROR_JIT_STACKLIMIT) return found;
  return pcre2_match(regex_.code_->code, subject, end, begin, options | PCRE2_NO_JIT, memory_->data,
                     memory_->context);  // the interpreter keeps its frames on the heap
}

int Regex::Matcher::match_at(std::string_view text, std::size_t begin, bool& costly) {
  std::uint64_t steps = kFreeSteps;
  std::size_t window = kFreeWindow;
  costly = false;
  while (true) {
    const std::size_t end = window_end(text, begin, window);
    const int found = match(text, begin, end, PCRE2_ANCHORED, steps);
    if (found == PCRE2_ERROR_MATCHLIMIT) {
      costly = true;
      steps *= 2;
      if (steps > steps_) return found;
      steps_ -= steps;
    } else if (found == PCRE2_ERROR_PARTIAL) {
      window *= 2;
      const std::size_t more = window_end(text, begin, window) - begin;
      if (more > windows_) return PCRE2_ERROR_MATCHLIMIT;
      windows_ -= more;
    } else {
      return found;
    }
  }
}

int Regex::Matcher::search(std::string_view text, std::size_t begin) {
  bool one_by_one = false;  // up to the start that needs more steps
  while (true) {
    if (!one_by_one) {
      const std::size_t end = window_end(text, begin, kFreeWindow);
      const int found = match(text, begin, end, 0, kFreeSteps);
      const PCRE2_SIZE* range = pcre2_get_ovector_pointer(memory_->data);
      // At the window's end nothing can be told of what begins there.
      if (found == PCRE2_ERROR_NOMATCH || (found >= 0 && range[0] == end)) {
        if (end == text.size()) return found;
        begin = end;
        continue;
      }
      if (found == PCRE2_ERROR_PARTIAL) begin = range[0];
      one_by_one = found == PCRE2_ERROR_MATCHLIMIT;
      if (!one_by_one && found != PCRE2_ERROR_PARTIAL) return found;
    }
    bool costly = false;
    const int found = match_at(text, begin, costly);
    if (found != PCRE2_ERROR_NOMATCH || begin >= text.size()) return found;
    begin += decode_utf8(text, begin).length;
    one_by_one = one_by_one && !costly;
  }
}

void Regex::Matcher::split_valid(std::string_view text, std::vector<RegexSpan>& out) {
  std::size_t done = 0;  // everything before is in `out`
  std::size_t from = 0;  // where the next match may begin
  while (from <= text.size()) {
    const int found = search(text, from);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) throw Error("{}: matching failed: {}", regex_.where_, error_text(found));
    const PCRE2_SIZE* range = pcre2_get_ovector_pointer(memory_->data);
    const std::size_t begin = range[0];
    const std::size_t end = range[1];
    if (end < begin || begin < done) throw Error("{}: a match begins after its end (\\K)", regex_.where_);
    if (begin > done) out.push_back({text.substr(done, begin - done), false});
    if (end > begin) out.push_back({text.substr(begin, end - begin), true});
    done = end;
    from = end;
    if (end == begin) {  // an empty match: go on behind the next character
      if (end >= text.size()) break;
      from += decode_utf8(text, end).length;
    }
  }
  if (done < text.size()) out.push_back({text.substr(done), false});
}

}  // namespace augur
