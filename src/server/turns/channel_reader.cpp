#include "server/turns/channel_reader.h"

#include <algorithm>
#include <utility>

#include "server/tools/held_text.h"

namespace augur {
namespace {

constexpr std::string_view kStart = "<|start|>";
constexpr std::string_view kChannel = "<|channel|>";
constexpr std::string_view kConstrain = "<|constrain|>";
constexpr std::string_view kMessage = "<|message|>";
constexpr std::string_view kRole = "assistant";
constexpr std::string_view kTo = "to=";
constexpr std::array<std::string_view, 3> kEnds = {"<|end|>", "<|call|>", "<|return|>"};
constexpr std::size_t kLongestHeader = 256;

bool in_header_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '-' || c == '=' || c == ' ';
}

bool agree(std::string_view text, std::string_view word) {
  return text.starts_with(word) || word.starts_with(text);
}

/// Whether a header can begin so. `role`: with the name of who speaks.
bool begins_header(std::string_view text, bool role) {
  if (text.size() > kLongestHeader) return false;
  if (role) {
    if (!agree(text, kRole)) return false;
    text.remove_prefix(std::min(text.size(), kRole.size()));
  }
  text = without_space(text);
  if (!agree(text, kChannel) && !agree(text, kTo)) return false;
  while (!text.empty()) {
    if (in_header_word(text.front())) {
      text.remove_prefix(1);
      continue;
    }
    const std::array<std::string_view, 3> tags = {kChannel, kConstrain, kMessage};
    const auto tag =
        std::find_if(tags.begin(), tags.end(), [&](std::string_view one) { return agree(text, one); });
    if (tag == tags.end()) return false;
    text.remove_prefix(std::min(text.size(), tag->size()));
  }
  return true;
}

/// What stands behind `word`, to the next space or tag.
std::string_view word_behind(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + word.size());
  return text.substr(0, text.find_first_of(" <"));
}

}  // namespace

std::vector<AnswerPiece> ChannelReader::read_text(std::string_view text) {
  std::vector<AnswerPiece> pieces;
  pending_ += text;
  while (advance(false, pieces)) {
  }
  return pieces;
}

std::vector<AnswerPiece> ChannelReader::read_end() {
  std::vector<AnswerPiece> pieces;
  while (advance(true, pieces)) {
  }
  if (where_ == Where::Body) end_body(pieces);
  return pieces;
}

/// Whether there is more to be understood.
bool ChannelReader::advance(bool last, std::vector<AnswerPiece>& to) {
  switch (where_) {
    case Where::Between:
      return advance_between(last);
    case Where::Header:
      return advance_header(last, to);
    case Where::Body:
      return advance_body(last, to);
    case Where::Dropped:
      pending_.clear();
      return false;
  }
  return false;
}

bool ChannelReader::advance_between(bool last) {
  pending_ = std::string(without_space(pending_));
  if (pending_.empty()) return false;
  role_ahead_ = pending_.starts_with(kStart);
  if (role_ahead_) {
    pending_.erase(0, kStart.size());
  } else if (kStart.starts_with(pending_)) {
    if (last) pending_.clear();
    return false;
  }
  where_ = Where::Header;
  return true;
}

bool ChannelReader::advance_header(bool last, std::vector<AnswerPiece>& to) {
  const std::size_t end = pending_.find(kMessage);
  const std::size_t size = std::min(end, pending_.size() - begun_at_end(pending_, kMessage));
  const std::string_view header = std::string_view(pending_).substr(0, size);
  const bool whole = end != std::string::npos;
  const bool named = !role_ahead_ || header.starts_with(kRole);
  const bool fits = begins_header(header, role_ahead_) && (named || !whole);
  if (fits && !whole) {
    if (last) pending_.clear();
    return false;
  }
  if (fits) {
    const std::string said(header.substr(role_ahead_ ? kRole.size() : 0));
    pending_.erase(0, end + kMessage.size());
    begin_body(said, to);
  } else {
    begin_body("", to);
  }
  return true;
}

void ChannelReader::begin_body(std::string_view header, std::vector<AnswerPiece>& to) {
  where_ = Where::Body;
  fresh_ = true;
  const std::string_view channel = word_behind(header, kChannel);
  std::string_view recipient = word_behind(header, kTo);
  kind_ = channel == "analysis" && !options_.thoughts_are_content ? Kind::Thought : Kind::Content;
  if (recipient.empty() || recipient == kRole) return;
  kind_ = Kind::Content;
  constexpr std::string_view kFunctions = "functions.";
  if (recipient.starts_with(kFunctions)) recipient.remove_prefix(kFunctions.size());
  const std::string written = std::string(without_space(header)) + std::string(kMessage);
  if (!functions_.contains(recipient)) return body(written, to);
  kind_ = Kind::Call;
  function_ = recipient;
  withheld_ = written;
  call_has_begun_ = false;
  reader_ = JsonCallReader::of_arguments(function_);
}

bool ChannelReader::advance_body(bool last, std::vector<AnswerPiece>& to) {
  std::size_t end = pending_.find(kStart);
  std::size_t held = begun_at_end(pending_, kStart);
  std::size_t behind = 0;
  for (const std::string_view tag : kEnds) {
    held = std::max(held, begun_at_end(pending_, tag));
    const std::size_t at = pending_.find(tag);
    if (at >= end) continue;
    end = at;
    behind = tag.size();
  }
  const bool ended = end != std::string::npos;
  const std::size_t shown = ended ? end : pending_.size() - (last ? 0 : held);
  body(std::string_view(pending_).substr(0, shown), to);
  pending_.erase(0, shown + behind);
  if (!ended) return false;
  end_body(to);
  return true;
}

void ChannelReader::body(std::string_view text, std::vector<AnswerPiece>& to) {
  if (text.empty() || kind_ == Kind::CallEnded) return;
  if (kind_ == Kind::Call) return call(text, to);
  const bool thought = kind_ == Kind::Thought;
  bool& any = thought ? any_thought_ : any_content_;
  const char* const between = std::exchange(fresh_, false) && any ? "\n" : "";
  any = true;
  to.push_back({.text = between + std::string(text), .thought = thought});
}

void ChannelReader::call(std::string_view text, std::vector<AnswerPiece>& to) {
  const std::size_t taken = reader_.read_call(text);
  if (!call_has_begun_) withheld_ += text.substr(0, taken);
  if (!call_has_begun_ && reader_.known()) {
    call_has_begun_ = true;
    to.push_back({.call = calls_++, .name = function_});
  }
  if (call_has_begun_) {
    if (std::string arguments = reader_.take_arguments(); !arguments.empty())
      to.push_back({.call = calls_ - 1, .text = std::move(arguments)});
  }
  if (reader_.state() == CallState::Done) kind_ = Kind::CallEnded;
  if (reader_.state() != CallState::Broken) return;
  kind_ = Kind::Content;
  if (!call_has_begun_) body(withheld_, to);
  body(text.substr(taken), to);
}

void ChannelReader::end_body(std::vector<AnswerPiece>& to) {
  where_ = Where::Between;
  if (kind_ == Kind::Call && !call_has_begun_) {
    // A function without arguments; or nothing was written but who is called.
    to.push_back({.call = calls_++, .name = function_});
    to.push_back({.call = calls_ - 1, .text = "{}"});
  }
  if ((kind_ == Kind::Call || kind_ == Kind::CallEnded) && !options_.parallel) where_ = Where::Dropped;
  kind_ = Kind::Content;
}

}  // namespace augur
