#include "server/turns/chat_turn.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "server/answers/generation_answer.h"
#include "server/tools/held_text.h"

namespace augur {
namespace {

/// Special tokens of the tag are part of the answer's text.
void show_tag(const Engine& engine, std::string_view tag, Request& request) {
  const std::vector<TokenId> tokens = engine.tokenize_part(tag);
  request.shown_tokens.insert(request.shown_tokens.end(), tokens.begin(), tokens.end());
}

/// Whether the answer goes on from a thought: the template's generation prompt ends so, or the message does
/// that is to be continued.
bool begins_in_thought(const Engine& engine, const Request& request, std::string_view continued,
                       const ThoughtTags& tags) {
  if (!continued.empty()) return ends_in_thought(continued, tags);
  if (request.chat_end == ChatEnd::Turn) return false;
  constexpr std::size_t kLastTokens = 16;
  const std::size_t last = std::min(kLastTokens, request.prompt_tokens.size());
  const std::string end = engine.detokenize(std::span(request.prompt_tokens).last(last), true);
  const std::size_t size = end.find_last_not_of(kTextSpaces) + 1;
  return std::string_view(end).substr(0, size).ends_with(tags.begin);
}

}  // namespace

AnswerParser begin_chat(const Engine& engine, const OfferedTools& offered, const ThoughtWishes& wishes,
                        Request& request) {
  const std::string source = engine.chat_template();
  const std::string continued =
      request.chat_end == ChatEnd::Continue ? request.messages.back().content : std::string();
  std::optional<ToolParser> tools = offer_tools(engine, offered, request);
  tokenize_prompt(engine, request);
  if (writes_channels(source)) {
    for (const std::string_view tag : ChannelReader::kTags) show_tag(engine, tag, request);
    const bool own = tools && tools->format() == ToolFormat::Channels;
    ChannelReader channels(own ? tools->functions() : FunctionTypes(),
                           {.parallel = offered.parallel,
                            .thoughts_are_content = wishes.as_content,
                            .begun = request.chat_end == ChatEnd::Continue});
    if (own) tools.reset();
    return {std::move(channels), std::move(tools)};
  }
  const std::optional<ThoughtTags> tags = thought_tags(source);
  if (!tags) return tools ? AnswerParser(std::move(*tools)) : AnswerParser();
  show_tag(engine, tags->begin, request);
  show_tag(engine, tags->end, request);
  if (wishes.as_content) return tools ? AnswerParser(std::move(*tools)) : AnswerParser();
  const bool among = tools && tools->format() == ToolFormat::Xml;
  ThoughtReader thoughts(*tags, begins_in_thought(engine, request, continued, *tags));
  return {std::move(thoughts), std::move(tools), among};
}

}  // namespace augur
