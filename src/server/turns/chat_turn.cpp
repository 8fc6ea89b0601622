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

/// Of the efforts that there are, the nearest that gpt-oss knows.
void round_effort(ThoughtWishes& wishes) {
  if (wishes.effort == "none" || wishes.effort == "minimal") wishes.effort = "low";
  if (wishes.effort == "xhigh" || wishes.effort == "max") wishes.effort = "high";
}

/// The thoughts of an answer in channels. `whole_answer`: the request's grammar says what the answer is, not
/// how calls are.
std::optional<ThoughtOptions> channel_thoughts(const ThoughtWishes& wishes, bool whole_answer) {
  const std::string analysis = "analysis<|message|>";
  const std::string thinks = "<|channel|>" + analysis;
  const std::string next = "<|start|>assistant";
  const std::string answers = "<|channel|>final<|message|>";
  const std::string end = "<|end|>";
  if (whole_answer) {
    return ThoughtOptions{.end = answers,
                          .begun = true,
                          .most_tokens = wishes.most_tokens,
                          .written_end = end + next + answers};
  }
  if (wishes.most_tokens < 0) return std::nullopt;
  return ThoughtOptions{.begin = thinks,
                        .end = end,
                        .again = next + thinks,
                        .most_tokens = wishes.most_tokens,
                        .written_end = end + next,
                        .choice = analysis};
}

}  // namespace

std::optional<ToolParser> prepare_chat(const Engine& engine, const OfferedTools& offered,
                                       const ThoughtWishes& wishes, Request& request) {
  ThoughtWishes known = wishes;
  if (writes_channels(engine.chat_template())) round_effort(known);
  lay_variables(known, request);
  return offer_tools(engine, offered, request);
}

AnswerParser begin_chat(const Engine& engine, const OfferedTools& offered, const ThoughtWishes& wishes,
                        Request& request) {
  const std::string source = engine.chat_template();
  const bool whole_answer = request.grammar.has_value();
  const std::string continued =
      request.chat_end == ChatEnd::Continue ? request.messages.back().content : std::string();
  std::optional<ToolParser> tools = prepare_chat(engine, offered, wishes, request);
  tokenize_prompt(engine, request);
  if (writes_channels(source)) {
    if (request.chat_end != ChatEnd::Continue) request.thoughts = channel_thoughts(wishes, whole_answer);
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
  const bool begun = begins_in_thought(engine, request, continued, *tags);
  if (begun || wishes.most_tokens >= 0) {
    request.thoughts = ThoughtOptions{.begin = std::string(tags->begin),
                                      .end = std::string(tags->end),
                                      .begun = begun,
                                      .most_tokens = wishes.most_tokens};
  }
  if (wishes.as_content) return tools ? AnswerParser(std::move(*tools)) : AnswerParser();
  const bool among = tools && tools->format() == ToolFormat::Xml;
  return {ThoughtReader(*tags, begun), std::move(tools), among};
}

}  // namespace augur
