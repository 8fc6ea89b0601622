#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "io/tokenizer.h"

namespace augur {

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

  /// Grows the table as needed. Error (prefixed with `where`) for an id that no vocabulary can have.
  void set_entry(std::int64_t id, std::string bytes, Kind kind, std::string_view where);
  /// Error for an id outside the vocabulary, or one that no token has.
  const Entry& entry(TokenId id) const;

  std::vector<Entry> table_;  ///< by id
  bool strips_leading_space_ = false;
};

}  // namespace augur
