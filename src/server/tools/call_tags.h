#pragma once
#include <array>
#include <string_view>

namespace augur {

/// The tags in which a model writes calls whose arguments have tags each.
struct CallTags {
  std::string_view begin;                ///< before the name; empty: nothing is
  std::string_view name_end;             ///< behind it; empty: space, or what comes next
  std::string_view argument;             ///< before an argument's name
  std::string_view argument_end;         ///< behind it
  std::string_view value;                ///< before its value, perhaps behind space; empty: nothing is
  std::string_view value_end;            ///< behind it
  std::array<std::string_view, 2> ends;  ///< of a call; the second where a model has forgotten the first
  bool lines = false;                    ///< a line break on either side of a value is none of the value's
  bool compact = false;                  ///< parts may stand in lines of their own or not
};

/// Qwen's since Qwen3-Coder: <function=N>\n<parameter=P>\nV\n</parameter>\n</function>
inline constexpr CallTags kQwenCalls = {.begin = "<function=",
                                        .name_end = ">",
                                        .argument = "<parameter=",
                                        .argument_end = ">",
                                        .value = "",
                                        .value_end = "</parameter>",
                                        .ends = {"</function>", "</tool_call>"},
                                        .lines = true};

/// GLM's since 4.5: N\n<arg_key>P</arg_key>\n<arg_value>V</arg_value>\n</tool_call>; since 4.7 in one line.
inline constexpr CallTags kGlmCalls = {.begin = "",
                                       .name_end = "",
                                       .argument = "<arg_key>",
                                       .argument_end = "</arg_key>",
                                       .value = "<arg_value>",
                                       .value_end = "</arg_value>",
                                       .ends = {"</tool_call>", "</tool_call>"},
                                       .compact = true};

/// MiniMax M2's: <invoke name="N">\n<parameter name="P">V</parameter>\n</invoke>
inline constexpr CallTags kMiniMaxCalls = {.begin = "<invoke name=\"",
                                           .name_end = "\">",
                                           .argument = "<parameter name=\"",
                                           .argument_end = "\">",
                                           .value = "",
                                           .value_end = "</parameter>",
                                           .ends = {"</invoke>", "</minimax:tool_call>"}};

/// The tags of calls that name a function and hand it one JSON object.
struct NamedCallTags {
  std::string_view begin;  ///< before the name
  std::string_view arguments;
  std::string_view end;
  std::string_view prefix;  ///< of the name, which may be missing
  bool numbered = false;    ///< a colon and the call's number stand behind the name
};

/// <|tool_call_begin|>functions.N:0<|tool_call_argument_begin|>{...}<|tool_call_end|>
inline constexpr NamedCallTags kKimiCalls = {.begin = "<|tool_call_begin|>",
                                             .arguments = "<|tool_call_argument_begin|>",
                                             .end = "<|tool_call_end|>",
                                             .prefix = "functions.",
                                             .numbered = true};

/// <｜tool▁call▁begin｜>N<｜tool▁sep｜>{...}<｜tool▁call▁end｜>
inline constexpr NamedCallTags kDeepSeekCalls = {.begin = "<｜tool▁call▁begin｜>",
                                                 .arguments = "<｜tool▁sep｜>",
                                                 .end = "<｜tool▁call▁end｜>",
                                                 .prefix = ""};

}  // namespace augur
