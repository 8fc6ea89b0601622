#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/tools/argument_types.h"
#include "server/tools/json_call_reader.h"
#include "server/tools/named_call_reader.h"
#include "server/tools/python_call_reader.h"
#include "server/tools/xml_call_reader.h"

namespace augur {

/// How a model writes that it wants functions to be called.
enum class ToolFormat {
  Hermes,    ///< <tool_call>{"name", "arguments"}</tool_call>, as Qwen's and many others
  Llama3,    ///< the whole answer is {"name", "parameters"}, perhaps behind <|python_tag|>
  Mistral,   ///< [TOOL_CALLS][{"name", "arguments"}, ...]
  Xml,       ///< <tool_call><function=N><parameter=P>V</parameter></function></tool_call>, Qwen's since
             ///< Qwen3-Coder
  Python,    ///< <|tool_call_start|>[f(x=1, y="a"), ...]<|tool_call_end|>, LFM2's
  Glm,       ///< <tool_call>N\n<arg_key>P</arg_key>\n<arg_value>V</arg_value>\n</tool_call>, GLM's since 4.5
  MiniMax,   ///< <minimax:tool_call><invoke name="N"><parameter name="P">V</parameter></invoke>..., M2's
  Kimi,      ///< <|tool_calls_section_begin|> and calls in kKimiCalls, Kimi K2's
  DeepSeek,  ///< <｜tool▁calls▁begin｜> and calls in kDeepSeekCalls, DeepSeek V3.1's
  Channels   ///< <|channel|>commentary to=functions.N <|constrain|>json<|message|>{...}<|call|>, gpt-oss'
};

/// Whether a template writes messages in channels, as gpt-oss' does (its format is called harmony).
bool writes_channels(std::string_view chat_template);

/// Whether a template writes calls as DeepSeek V3.1's does, which has no place for the tools themselves.
bool writes_deepseek_calls(std::string_view chat_template);

/// The one that a chat template writes; nothing where it knows no tools.
std::optional<ToolFormat> tool_format(std::string_view chat_template);

/// The text that begins calls. It may be a special token of the model.
std::string_view tool_tag(ToolFormat format);
/// All texts of calls that may be special tokens, that one first.
std::vector<std::string_view> tool_tags(ToolFormat format);
/// What ends the calls behind tool_tag(); empty: nothing does.
std::string_view tool_end(ToolFormat format);

/// A piece of an answer: of its content, of a thought, or of a call.
struct AnswerPiece {
  int call = -1;     ///< the call's number, from 0; -1: content
  std::string name;  ///< of the function, in a call's first piece only
  std::string text;  ///< content, or arguments: joined, a call's are one JSON object
  bool thought = false;
};

/// Takes calls out of an answer, or of its content, as it is written; not those of Channels
/// (channel_reader.h). What looks like a call but is none (broken JSON, a function that was not offered) is
/// content, unless it breaks after its arguments have begun. White space around calls is dropped. Calls of
/// Xml may lack the tag that begins them.
class ToolParser {
 public:
  /// `functions`: those that may be called. `parallel`: more than one call, otherwise what follows the first
  /// is dropped.
  ToolParser(ToolFormat format, FunctionTypes functions, bool parallel);

  std::vector<AnswerPiece> read_text(std::string_view text);
  /// The answer has ended.
  std::vector<AnswerPiece> read_end();
  /// Calls that have begun.
  int calls() const { return calls_; }
  /// Whether what comes next is a call's, or is to be one.
  bool expects_call() const { return where_ == Where::BetweenCalls || where_ == Where::Call; }
  ToolFormat format() const { return format_; }
  const FunctionTypes& functions() const { return *functions_; }

 private:
  enum class Where { Content, BetweenCalls, Call, Dropped };

  void advance(bool last, std::vector<AnswerPiece>& to);
  bool advance_content(bool last, std::vector<AnswerPiece>& to);
  bool advance_between(bool last, std::vector<AnswerPiece>& to);
  bool advance_call(bool last, std::vector<AnswerPiece>& to);
  bool begin_call();
  template <class Reader>
  bool advance_reader(Reader& reader, bool last, std::vector<AnswerPiece>& to);
  /// What follows `bytes` of the pending text are calls, or else those bytes are content.
  bool enter_block(std::size_t bytes);
  bool leave_block(std::vector<AnswerPiece>& to);
  void content(std::string_view text, std::vector<AnswerPiece>& to);

  ToolFormat format_;
  std::shared_ptr<const FunctionTypes> functions_;
  bool parallel_;
  Where where_ = Where::Content;
  std::string pending_;   ///< text that is not understood yet
  std::string withheld_;  ///< since calls were expected: content if there is none
  std::string space_;     ///< of the content, shown when more follows
  bool any_content_ = false;
  bool after_call_ = false;      ///< and nothing but space since
  bool block_has_call_ = false;  ///< since calls were expected
  bool call_has_begun_ = false;
  int calls_ = 0;
  std::variant<JsonCallReader, XmlCallReader, PythonCallReader, NamedCallReader> reader_;
};

}  // namespace augur
