#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace augur {

/// One past the highest id of a vocabulary of so many tokens: its gaps may be wide, but what a small file
/// makes us allocate stays small.
std::int64_t token_id_limit(std::size_t tokens);

/// The half of a tokenizer that all formats share: what each id stands for, and decoding.
class TableTokenizer : public Tokenizer {
 public:
  std::string token_bytes(TokenId id) const override { return entry(id).bytes; }
  bool is_special(TokenId id) const override { return entry(id).kind == Kind::Special; }
  std::int32_t vocab_size() const override { return static_cast<std::int32_t>(table_.size()); }
  std::string decode(const std::vector<TokenId>& ids, bool show_special) const override;
  bool strips_leading_space() const override { return strips_leading_space_; }

 protected:
  enum class Kind : unsigned char { Absent, Normal, Special };
  struct Entry {
    std::string bytes;  ///< in running text
    Kind kind = Kind::Absent;
  };

  /// Grows the table as needed. Error (prefixed with `where`) for an id that reaches id_limit_.
  void set_entry(std::int64_t id, std::string bytes, Kind kind, std::string_view where);
  /// Absent for an id that no token has; Error for one outside the vocabulary.
  const Entry& entry(TokenId id) const;

  std::vector<Entry> table_;   ///< by id
  std::int64_t id_limit_ = 0;  ///< one past the highest id that set_entry takes
  bool strips_leading_space_ = false;
};

}  // namespace augur
