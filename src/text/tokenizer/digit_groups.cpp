#include "text/tokenizer/digit_groups.h"

#include <algorithm>
#include <iterator>

#include "base/utf8.h"

namespace augur {
namespace {

struct Grouping {
  std::string_view pattern;
  std::string_view run;        ///< a number, all of it; a run that does not match is searched once
  bool cuts_in_front = false;  ///< also where the first group has fewer than three
};

constexpr Grouping kGroupings[] = {
    {kNumbersFromTheRight, R"(\p{N}+)", true},
    {kDigitsFromTheRight, R"((?<!\d)\d++(?!\w))", true},
    {kBeforeThreeDigits, R"(\d+)"},
};

class DigitGroups : public PreTokenizer {
 public:
  explicit DigitGroups(const Grouping& grouping)
      : run_(grouping.run, std::string(grouping.pattern)), cuts_in_front_(grouping.cuts_in_front) {}

  void apply(PieceList& list) const override {
    Regex::Matcher matcher(run_);
    std::vector<RegexSpan> spans;
    std::vector<std::string_view> out;
    out.reserve(2 * list.pieces.size());
    for (const std::string_view piece : list.pieces) {
      spans.clear();
      matcher.split(piece, spans);
      std::size_t begin = 0;
      std::size_t end = 0;
      const auto cut = [&](std::size_t at) {
        if (at > begin) out.push_back(piece.substr(begin, at - begin));
        begin = at;
      };
      for (const RegexSpan& span : spans) {
        if (span.matched) cut_groups(span.text, end, cut);
        end += span.text.size();
        if (span.matched && cuts_in_front_) cut(end);
      }
      cut(piece.size());
    }
    list.pieces = std::move(out);
  }

 private:
  template <typename Cut>
  void cut_groups(std::string_view digits, std::size_t begin, const Cut& cut) const {
    const auto is_first_byte = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
    auto left = static_cast<std::size_t>(std::ranges::count_if(digits, is_first_byte));
    if (cuts_in_front_) cut(begin);
    for (std::size_t at = 0; at < digits.size(); at += decode_utf8(digits, at).length, --left)
      if (left % 3 == 0) cut(begin + at);
  }

  Regex run_;
  bool cuts_in_front_;
};

}  // namespace

std::unique_ptr<PreTokenizer> digit_groups(std::string_view pattern) {
  const auto* found = std::ranges::find(kGroupings, pattern, &Grouping::pattern);
  return found == std::end(kGroupings) ? nullptr : std::make_unique<DigitGroups>(*found);
}

}  // namespace augur
