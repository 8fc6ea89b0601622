#include "server/tools/tool_parser.h"

#include <algorithm>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "server/tools/held_text.h"

namespace augur {
namespace {

std::string_view separators(ToolFormat format) {
  switch (format) {
    case ToolFormat::Channels:
    case ToolFormat::Hermes:
    case ToolFormat::Xml:
    case ToolFormat::Glm:
    case ToolFormat::MiniMax:
    case ToolFormat::Kimi:
    case ToolFormat::DeepSeek:
      return kTextSpaces;
    case ToolFormat::Llama3:
      return " \n\t\r;";
    case ToolFormat::Mistral:
    case ToolFormat::Python:
      return " \n\t\r,[";
  }
  return {};
}

/// A token behind tool_end() that is shown or not; empty: there is none.
std::string_view after_block(ToolFormat format) {
  return format == ToolFormat::Python ? "<|tool_call_end|>" : "";
}

/// What begins each call behind tool_tag(); empty: its name or a bracket does.
std::string_view call_begin(ToolFormat format) {
  switch (format) {
    case ToolFormat::Xml:
      return kQwenCalls.begin;
    case ToolFormat::MiniMax:
      return kMiniMaxCalls.begin;
    case ToolFormat::Kimi:
      return kKimiCalls.begin;
    case ToolFormat::DeepSeek:
      return kDeepSeekCalls.begin;
    default:
      return {};
  }
}

/// What begins a call that has no tag before it; empty: nothing does.
std::string_view bare_begin(ToolFormat format) {
  return format == ToolFormat::Xml ? call_begin(format) : std::string_view();
}

}  // namespace

bool writes_channels(std::string_view chat_template) {
  return chat_template.find("<|channel|>") != std::string_view::npos &&
         chat_template.find("<|message|>") != std::string_view::npos;
}

bool writes_deepseek_calls(std::string_view chat_template) {
  // Before V3.1 arguments stand in a block of Markdown.
  return chat_template.find(kDeepSeekCalls.arguments) != std::string_view::npos &&
         chat_template.find("```json") == std::string_view::npos;
}

std::optional<ToolFormat> tool_format(std::string_view chat_template) {
  const auto has = [&](std::string_view text) { return chat_template.find(text) != std::string_view::npos; };
  if (!has("tools")) return std::nullopt;
  if (writes_channels(chat_template)) return ToolFormat::Channels;
  if (has(kQwenCalls.begin) && has(kQwenCalls.argument)) return ToolFormat::Xml;
  if (has(kGlmCalls.argument)) return ToolFormat::Glm;
  if (has(tool_tag(ToolFormat::MiniMax))) return ToolFormat::MiniMax;
  if (has(tool_tag(ToolFormat::Kimi))) return ToolFormat::Kimi;
  if (writes_deepseek_calls(chat_template)) return ToolFormat::DeepSeek;
  if (has(tool_tag(ToolFormat::Hermes))) return ToolFormat::Hermes;
  // The first of LFM2's templates name one of these only.
  if (has(tool_tag(ToolFormat::Python)) || has("<|tool_list_start|>") || has("List of tools: ["))
    return ToolFormat::Python;
  if (has(tool_tag(ToolFormat::Mistral))) return ToolFormat::Mistral;
  if (has("<|start_header_id|>") && has("\"parameters\":")) return ToolFormat::Llama3;
  return std::nullopt;
}

std::string_view tool_tag(ToolFormat format) {
  switch (format) {
    case ToolFormat::Hermes:
    case ToolFormat::Xml:
    case ToolFormat::Glm:
      return "<tool_call>";
    case ToolFormat::MiniMax:
      return "<minimax:tool_call>";
    case ToolFormat::Kimi:
      return "<|tool_calls_section_begin|>";
    case ToolFormat::DeepSeek:
      return "<｜tool▁calls▁begin｜>";
    case ToolFormat::Llama3:
      return "<|python_tag|>";
    case ToolFormat::Mistral:
      return "[TOOL_CALLS]";
    case ToolFormat::Python:
      return "<|tool_call_start|>";
    case ToolFormat::Channels:
      return "<|channel|>";
  }
  return {};
}

std::string_view tool_end(ToolFormat format) {
  switch (format) {
    case ToolFormat::Hermes:
    case ToolFormat::Xml:
    case ToolFormat::Glm:
      return "</tool_call>";
    case ToolFormat::MiniMax:
      return "</minimax:tool_call>";
    case ToolFormat::Kimi:
      return "<|tool_calls_section_end|>";
    case ToolFormat::DeepSeek:
      return "<｜tool▁calls▁end｜>";
    case ToolFormat::Mistral:
    case ToolFormat::Python:
      return "]";
    case ToolFormat::Llama3:
    case ToolFormat::Channels:
      return {};
  }
  return {};
}

std::vector<std::string_view> tool_tags(ToolFormat format) {
  std::vector<std::string_view> tags = {tool_tag(format)};
  const auto add = [&](std::initializer_list<std::string_view> more) { tags.insert(tags.end(), more); };
  if (format == ToolFormat::Glm)
    add({kGlmCalls.argument, kGlmCalls.argument_end, kGlmCalls.value, kGlmCalls.value_end});
  if (format == ToolFormat::Glm || format == ToolFormat::MiniMax) add({tool_end(format)});
  for (const auto& [one, calls] :
       {std::pair{ToolFormat::Kimi, &kKimiCalls}, std::pair{ToolFormat::DeepSeek, &kDeepSeekCalls}})
    if (format == one) add({calls->begin, calls->arguments, calls->end, tool_end(format)});
  return tags;
}

ToolParser::ToolParser(ToolFormat format, FunctionTypes functions, bool parallel)
    : format_(format),
      functions_(std::make_shared<const FunctionTypes>(std::move(functions))),
      parallel_(parallel) {}

std::vector<AnswerPiece> ToolParser::read_text(std::string_view text) {
  std::vector<AnswerPiece> pieces;
  pending_ += text;
  advance(false, pieces);
  return pieces;
}

std::vector<AnswerPiece> ToolParser::read_end() {
  std::vector<AnswerPiece> pieces;
  advance(true, pieces);
  if (calls_ == 0 && !space_.empty()) pieces.push_back({.text = std::exchange(space_, {})});
  return pieces;
}

void ToolParser::advance(bool last, std::vector<AnswerPiece>& to) {
  for (bool moved = true; moved;) {
    switch (where_) {
      case Where::Content:
        moved = advance_content(last, to);
        break;
      case Where::BetweenCalls:
        moved = advance_between(last, to);
        break;
      case Where::Call:
        moved = advance_call(last, to);
        break;
      case Where::Dropped:
        pending_.clear();
        moved = false;
        break;
    }
  }
}

bool ToolParser::advance_content(bool last, std::vector<AnswerPiece>& to) {
  // A whole answer that is an object may be a call of Llama's.
  if (format_ == ToolFormat::Llama3 && !any_content_ && calls_ == 0) {
    const std::size_t first = pending_.find_first_not_of(kTextSpaces);
    if (first == std::string::npos && !last) return false;
    if (first != std::string::npos && pending_[first] == '{') return enter_block(first);
  }
  if (const std::string_view end = after_block(format_); after_call_ && !end.empty()) {
    pending_.erase(0, std::min(pending_.find_first_not_of(kTextSpaces), pending_.size()));
    if (pending_.starts_with(end)) pending_.erase(0, end.size());
    if (!pending_.empty() && end.starts_with(pending_)) {
      if (!last) return false;
      pending_.clear();
    }
  }
  const std::string_view tag = tool_tag(format_);
  const std::string_view bare = bare_begin(format_);
  const std::size_t tag_at = pending_.find(tag);
  const std::size_t bare_at = bare.empty() ? std::string::npos : pending_.find(bare);
  const std::size_t at = std::min(tag_at, bare_at);
  const std::size_t held = last ? 0 : std::max(begun_at_end(pending_, tag), begun_at_end(pending_, bare));
  const std::size_t shown = at == std::string::npos ? pending_.size() - held : at;
  content(std::string_view(pending_).substr(0, shown), to);
  pending_.erase(0, shown);
  return at != std::string::npos && enter_block(tag_at < bare_at ? tag.size() : 0);
}

bool ToolParser::enter_block(std::size_t bytes) {
  where_ = Where::BetweenCalls;
  block_has_call_ = false;
  withheld_ = pending_.substr(0, bytes);
  pending_.erase(0, bytes);
  return true;
}

bool ToolParser::leave_block(std::vector<AnswerPiece>& to) {
  where_ = Where::Content;
  content(std::exchange(withheld_, {}), to);
  return true;
}

bool ToolParser::advance_between(bool last, std::vector<AnswerPiece>& to) {
  const std::size_t first = std::min(pending_.find_first_not_of(separators(format_)), pending_.size());
  withheld_ += pending_.substr(0, first);
  pending_.erase(0, first);
  if (pending_.empty()) {
    if (last && block_has_call_) withheld_.clear();
    return last && leave_block(to);
  }
  if (begin_call()) return true;
  if (!last && call_begin(format_).starts_with(pending_)) return false;
  const std::string_view closing = block_has_call_ ? tool_end(format_) : std::string_view();
  if (!closing.empty()) {
    if (pending_.starts_with(closing)) {
      pending_.erase(0, closing.size());
    } else if (closing.starts_with(pending_)) {
      if (!last) return false;
      pending_.clear();
    }
  }
  if (block_has_call_) withheld_.clear();  // separators
  return leave_block(to);
}

/// Whether the pending text begins with a call.
bool ToolParser::begin_call() {
  const std::string_view begin = call_begin(format_);
  if (!begin.empty() && pending_.starts_with(begin)) {
    if (format_ == ToolFormat::Kimi || format_ == ToolFormat::DeepSeek)
      reader_ = NamedCallReader(format_ == ToolFormat::Kimi ? kKimiCalls : kDeepSeekCalls);
    else
      reader_ = XmlCallReader(format_ == ToolFormat::Xml ? kQwenCalls : kMiniMaxCalls, functions_);
  } else if (format_ == ToolFormat::Glm && pending_.front() != '<' && pending_.front() != '{') {
    reader_ = XmlCallReader(kGlmCalls, functions_);
  } else if (pending_.front() == '{') {
    reader_ = JsonCallReader();
  } else if (format_ == ToolFormat::Python && PythonCallReader::begins_name(pending_.front())) {
    reader_ = PythonCallReader();
  } else {
    return false;
  }
  where_ = Where::Call;
  call_has_begun_ = false;
  return true;
}

bool ToolParser::advance_call(bool last, std::vector<AnswerPiece>& to) {
  return std::visit([&](auto& reader) { return advance_reader(reader, last, to); }, reader_);
}

template <class Reader>
bool ToolParser::advance_reader(Reader& reader, bool last, std::vector<AnswerPiece>& to) {
  const std::size_t taken = reader.read_call(pending_);
  if (!call_has_begun_) withheld_ += pending_.substr(0, taken);
  pending_.erase(0, taken);
  if (!call_has_begun_ && reader.known()) {
    if (!functions_->contains(reader.name())) return leave_block(to);
    call_has_begun_ = block_has_call_ = after_call_ = true;
    withheld_.clear();
    space_.clear();
    to.push_back({.call = calls_++, .name = reader.name()});
  }
  if (call_has_begun_) {
    if (std::string arguments = reader.take_arguments(); !arguments.empty()) {
      to.push_back({.call = calls_ - 1, .text = std::move(arguments)});
    }
    if (reader.state() == CallState::Done) {
      const bool alone = format_ == ToolFormat::Glm && std::is_same_v<Reader, XmlCallReader>;
      where_ = !parallel_ ? Where::Dropped : alone ? Where::Content : Where::BetweenCalls;
      return true;
    }
  }
  if (reader.state() == CallState::Reading && !last) return false;
  return leave_block(to);
}

void ToolParser::content(std::string_view text, std::vector<AnswerPiece>& to) {
  if (after_call_) text.remove_prefix(std::min(text.find_first_not_of(kTextSpaces), text.size()));
  if (text.empty()) return;
  after_call_ = false;
  space_ += text;
  const std::size_t shown = space_.find_last_not_of(kTextSpaces) + 1;
  if (shown == 0) return;
  any_content_ = true;
  to.push_back({.text = space_.substr(0, shown)});
  space_.erase(0, shown);
}

}  // namespace augur
