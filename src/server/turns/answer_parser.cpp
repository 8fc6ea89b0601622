#include "server/turns/answer_parser.h"

#include <iterator>

namespace augur {
namespace {

using Pieces = std::vector<AnswerPiece>;

void append(Pieces& to, Pieces more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// What `reader` makes of the contents among the pieces; the others pass.
template <class Reader>
Pieces through(std::optional<Reader>& reader, Pieces pieces, bool last) {
  if (!reader) return pieces;
  Pieces to;
  for (AnswerPiece& piece : pieces) {
    if (piece.call < 0 && !piece.thought)
      append(to, reader->read_text(piece.text));
    else
      to.push_back(std::move(piece));
  }
  if (last) append(to, reader->read_end());
  return to;
}

}  // namespace

std::vector<AnswerPiece> AnswerParser::read_text(std::string_view text) {
  Pieces pieces;
  if (!text.empty()) pieces.push_back({.text = std::string(text)});
  pieces = through(channels_, std::move(pieces), false);
  if (calls_among_thoughts_) return through(thoughts_, through(tools_, std::move(pieces), false), false);
  return through(tools_, through(thoughts_, std::move(pieces), false), false);
}

std::vector<AnswerPiece> AnswerParser::read_end() {
  Pieces pieces = through(channels_, {}, true);
  if (calls_among_thoughts_) return through(thoughts_, through(tools_, std::move(pieces), true), true);
  return through(tools_, through(thoughts_, std::move(pieces), true), true);
}

int AnswerParser::calls() const {
  return (channels_ ? channels_->calls() : 0) + (tools_ ? tools_->calls() : 0);
}

bool AnswerParser::thinking() const {
  if (tools_ && tools_->expects_call()) return false;
  return (channels_ && channels_->thinking()) || (thoughts_ && thoughts_->thinking());
}

}  // namespace augur
