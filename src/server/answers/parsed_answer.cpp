#include "server/answers/parsed_answer.h"

#include <random>

namespace augur {
namespace {

void add(const std::vector<AnswerPiece>& pieces, ParsedAnswer& to) {
  for (const AnswerPiece& piece : pieces) {
    if (piece.call < 0) {
      (piece.thought ? to.thoughts : to.content) += piece.text;
      continue;
    }
    if (!piece.name.empty()) to.calls.push_back({.id = new_call_id(), .name = piece.name, .arguments = {}});
    to.calls.back().arguments += piece.text;
  }
}

}  // namespace

ParsedAnswer parse_answer(AnswerParser parser, std::string_view text) {
  ParsedAnswer answer;
  add(parser.read_text(text), answer);
  add(parser.read_end(), answer);
  return answer;
}

std::int64_t count_thought_tokens(AnswerParser parser, const Engine& engine,
                                  std::span<const TokenId> tokens) {
  std::int64_t count = 0;
  for (const TokenId token : tokens) {
    if (parser.thinking()) ++count;
    parser.read_text(engine.token_bytes(token));
  }
  return count;
}

std::string new_call_id() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  std::random_device random;
  std::string id(9, ' ');
  for (char& c : id) c = kLetters[random() % kLetters.size()];
  return id;
}

}  // namespace augur
