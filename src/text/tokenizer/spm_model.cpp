#include "text/tokenizer/spm_model.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/utf8.h"

namespace augur {
namespace {

/// One message of the wire format: fields as (number, type, value), unknown ones skipped by the caller.
class MessageReader {
 public:
  MessageReader(std::string_view content, std::string where) : rest_(content), where_(std::move(where)) {}

  /// Advances to the next field; false at the end.
  bool next() {
    if (rest_.empty()) return false;
    const std::uint64_t tag = varint();
    number_ = static_cast<std::int64_t>(tag >> 3);
    type_ = static_cast<int>(tag & 7);
    bytes_ = {};
    value_ = 0;
    switch (type_) {
      case 0:
        value_ = varint();
        break;
      case 1:
        take(8);
        break;
      case 2:
        bytes_ = take(varint());
        break;
      case 5:
        bytes_ = take(4);
        break;
      default:
        throw Error(ErrorKind::Unsupported, "{}: field {}: unknown wire type {}", where_, number_, type_);
    }
    return true;
  }

  std::int64_t number() const { return number_; }
  std::string_view bytes() const { return expect(2), bytes_; }
  bool flag() const { return expect(0), value_ != 0; }
  std::int64_t integer() const { return expect(0), static_cast<std::int64_t>(value_); }
  float number32() const {
    expect(5);
    std::uint32_t bits = 0;
    for (int i = 3; i >= 0; --i)
      bits = bits << 8 | static_cast<unsigned char>(bytes_[static_cast<std::size_t>(i)]);
    return std::bit_cast<float>(bits);
  }

 private:
  void expect(int type) const {
    if (type_ != type) throw Error("{}: field {}: wire type {}, expected {}", where_, number_, type_, type);
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    throw Error("{}: a number is longer than 64 bits", where_);
  }

  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) throw Error("{}: the message ends inside a field", where_);
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
  std::string where_;
  std::int64_t number_ = 0;
  int type_ = 0;
  std::uint64_t value_ = 0;
  std::string_view bytes_;
};

SpmModel::Piece read_piece(std::string_view content, const std::string& where) {
  SpmModel::Piece piece;
  for (MessageReader field(content, where); field.next();) {
    if (field.number() == 1) piece.text = field.bytes();
    if (field.number() == 2) piece.score = field.number32();
    if (field.number() == 3) {
      const std::int64_t type = field.integer();
      if (type < 1 || type > 6) throw Error("{}: type: unknown value {}", where, type);
      piece.type = static_cast<SpmModel::PieceType>(type);
    }
  }
  if (piece.text.empty()) throw Error("{}: piece: empty or missing", where);
  if (valid_utf8_prefix(piece.text) != piece.text.size()) throw Error("{}: piece: not valid UTF-8", where);
  if (std::isnan(piece.score)) throw Error("{}: score: not a number", where);
  return piece;
}

void read_trainer(std::string_view content, const std::string& where, SpmModel& model) {
  for (MessageReader field(content, where); field.next();) {
    if (field.number() == 3) model.is_bpe = field.integer() == 2;
    if (field.number() == 24) model.whitespace_as_suffix = field.flag();
    if (field.number() == 35) model.byte_fallback = field.flag();
    if (field.number() == 46) model.bos_piece = field.bytes();
    if (field.number() == 47) model.eos_piece = field.bytes();
  }
}

void read_normalizer(std::string_view content, const std::string& where, SpmModel& model) {
  for (MessageReader field(content, where); field.next();) {
    if (field.number() == 2) model.has_character_map = !field.bytes().empty();
    if (field.number() == 3) model.add_dummy_prefix = field.flag();
    if (field.number() == 4) model.remove_extra_whitespaces = field.flag();
    if (field.number() == 5) model.escape_whitespaces = field.flag();
  }
}

}  // namespace

SpmModel SpmModel::parse(std::string_view content, const std::string& file) {
  SpmModel model;
  for (MessageReader field(content, file + ": not a SentencePiece model"); field.next();) {
    if (field.number() == 1)
      model.pieces.push_back(
          read_piece(field.bytes(), file + ": pieces[" + std::to_string(model.pieces.size()) + "]"));
    if (field.number() == 2) read_trainer(field.bytes(), file + ": trainer_spec", model);
    if (field.number() == 3) read_normalizer(field.bytes(), file + ": normalizer_spec", model);
  }
  if (model.pieces.empty()) throw Error("{}: not a SentencePiece model: it has no pieces", file);
  return model;
}

}  // namespace augur
