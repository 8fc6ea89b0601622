#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace augur {

/// What a SentencePiece model file (a serialised ModelProto) says, as far as encoding needs it.
struct SpmModel {
  enum class PieceType : std::int32_t {
    Normal = 1,
    Unknown = 2,
    Control = 3,
    UserDefined = 4,
    Unused = 5,
    Byte = 6
  };
  struct Piece {
    std::string_view text;  ///< into the file's content
    float score = 0;
    PieceType type = PieceType::Normal;
  };
  std::vector<Piece> pieces;  ///< by id

  // trainer_spec
  bool is_bpe = false;
  bool byte_fallback = false;
  bool whitespace_as_suffix = false;
  std::string_view bos_piece = "<s>";
  std::string_view eos_piece = "</s>";
  // normalizer_spec
  bool has_character_map = false;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;

  /// Reads the wire format of protocol buffers; `content` must outlive the result. Error, naming `file` and
  /// the field, for what is malformed. Own code: of the message a dozen fields are read, for which protobuf
  /// would bring a generator and a library.
  static SpmModel parse(std::string_view content, const std::string& file);
};

}  // namespace augur
