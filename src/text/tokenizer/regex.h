#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace augur {

/// A part of a text, and whether the expression matched it.
struct RegexSpan {
  std::string_view text;
  bool matched = false;
  bool valid = true;  ///< false: bytes that are not UTF-8
};

/// A compiled regular expression in Oniguruma's syntax (see regex_syntax.h), matched by PCRE2. Immutable,
/// thread-safe.
class Regex {
 public:
  /// Error (prefixed with `where`) for a malformed pattern.
  Regex(std::string_view pattern, const std::string& where);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  /// Appends the text cut into matches and what lies between them, in order; empty matches cut but give no
  /// span. Matching never crosses invalid UTF-8: such bytes are spans of their own, not matched. Error when a
  /// pattern needs unreasonably many steps for the text's length.
  void split(std::string_view text, std::vector<RegexSpan>& out) const;

  /// For many short texts: keeps the matcher's working memory between calls; what they may cost counts
  /// together. Not thread-safe.
  class Matcher {
   public:
    explicit Matcher(const Regex& regex);
    ~Matcher();
    Matcher(const Matcher&) = delete;
    Matcher& operator=(const Matcher&) = delete;
    void split(std::string_view text, std::vector<RegexSpan>& out);

   private:
    void split_valid(std::string_view text, std::vector<RegexSpan>& out);
    // These give what pcre2_match gives.
    int search(std::string_view text, std::size_t begin);
    int match_at(std::string_view text, std::size_t begin, bool& costly);
    int match(std::string_view text, std::size_t begin, std::size_t end, std::uint32_t options,
              std::uint64_t steps);
    struct Memory;
    std::unique_ptr<Memory> memory_;
    const Regex& regex_;
    std::uint64_t steps_;    ///< that the texts so far leave to costly matches
    std::uint64_t windows_;  ///< bytes that they leave to long ones
  };

 private:
  struct Code;
  std::unique_ptr<Code> code_;
  std::string where_;
};

}  // namespace augur
