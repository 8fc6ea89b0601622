#include "server/turns/thought_tags.h"

#include <algorithm>
#include <array>

#include "server/tools/held_text.h"

namespace augur {
namespace {

/// Of Qwen, DeepSeek, LFM2.5, GLM and most others; Mistral; Cohere; Seed-OSS; Gemma 4.
constexpr std::array<ThoughtTags, 5> kTags = {{{"<think>", "</think>"},
                                               {"[THINK]", "[/THINK]"},
                                               {"<|START_THINKING|>", "<|END_THINKING|>"},
                                               {"<seed:think>", "</seed:think>"},
                                               {"<|channel>thought", "<channel|>"}}};

}  // namespace

std::optional<ThoughtTags> thought_tags(std::string_view chat_template) {
  // Some templates only take thoughts out of earlier turns: these name the end alone.
  for (const ThoughtTags& tags : kTags)
    if (chat_template.find(tags.end) != std::string_view::npos) return tags;
  return std::nullopt;
}

bool ends_in_thought(std::string_view text, const ThoughtTags& tags) {
  const std::size_t begin = text.rfind(tags.begin);
  if (begin == std::string_view::npos) return false;
  return text.find(tags.end, begin + tags.begin.size()) == std::string_view::npos;
}

std::vector<AnswerPiece> ThoughtReader::read_text(std::string_view text) {
  std::vector<AnswerPiece> pieces;
  pending_ += text;
  while (advance(false, pieces)) {
  }
  return pieces;
}

std::vector<AnswerPiece> ThoughtReader::read_end() {
  std::vector<AnswerPiece> pieces;
  while (advance(true, pieces)) {
  }
  return pieces;
}

/// Whether there is more to be understood.
bool ThoughtReader::advance(bool last, std::vector<AnswerPiece>& to) {
  switch (where_) {
    case Where::Begin: {
      const std::string_view rest = without_space(pending_);
      if (rest.starts_with(tags_.begin)) {
        pending_ = rest.substr(tags_.begin.size());
        where_ = Where::Thought;
        return true;
      }
      if (!last && tags_.begin.starts_with(rest)) return false;
      where_ = Where::Content;
      return true;
    }
    case Where::Thought:
      return advance_thought(last, to);
    case Where::Behind:
      pending_ = std::string(without_space(pending_));
      if (pending_.empty()) return false;
      where_ = Where::Content;
      return true;
    case Where::Content:
      if (!pending_.empty()) to.push_back({.text = std::exchange(pending_, {})});
      return false;
  }
  return false;
}

bool ThoughtReader::advance_thought(bool last, std::vector<AnswerPiece>& to) {
  if (!any_) pending_ = std::string(without_space(pending_));
  const std::size_t end = pending_.find(tags_.end);
  const bool ended = end != std::string::npos;
  const std::size_t whole = ended ? end : pending_.size() - (last ? 0 : begun_at_end(pending_, tags_.end));
  const std::size_t shown = pending_.find_last_not_of(kTextSpaces, whole - 1) + 1;
  if (whole > 0 && shown > 0) {
    to.push_back({.text = pending_.substr(0, shown), .thought = true});
    any_ = true;
    pending_.erase(0, shown);
  }
  if (!ended) {
    if (last) pending_.clear();
    return false;
  }
  pending_.erase(0, pending_.find(tags_.end) + tags_.end.size());
  where_ = Where::Behind;
  return true;
}

}  // namespace augur
