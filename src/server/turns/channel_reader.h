#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/tools/json_call_reader.h"
#include "server/tools/tool_parser.h"

namespace augur {

/// Takes an answer in gpt-oss' format apart as it is written: messages of the channel analysis are thoughts,
/// those of final and commentary are content, those to functions that were offered are calls. Messages of
/// one kind stand in lines of their own. What is no such message is content, but for tags that end messages;
/// a header that breaks off is nothing.
class ChannelReader {
 public:
  /// The tags that messages are made of, as far as they stand in an answer.
  static constexpr std::array<std::string_view, 5> kTags = {"<|start|>", "<|channel|>", "<|constrain|>",
                                                            "<|message|>", "<|end|>"};

  struct Options {
    bool parallel = true;  ///< more than one call, otherwise what follows the first is dropped
    bool thoughts_are_content = false;
    bool begun = false;  ///< the answer goes on from a message's content
  };
  /// `functions`: those that may be called.
  ChannelReader(FunctionTypes functions, const Options& options)
      : functions_(std::move(functions)),
        options_(options),
        where_(options.begun ? Where::Body : Where::Header) {}

  std::vector<AnswerPiece> read_text(std::string_view text);
  /// The answer has ended.
  std::vector<AnswerPiece> read_end();
  /// Calls that have begun.
  int calls() const { return calls_; }
  /// Whether a message of thoughts has begun and not ended.
  bool thinking() const { return where_ == Where::Body && kind_ == Kind::Thought; }

 private:
  enum class Where { Between, Header, Body, Dropped };
  enum class Kind { Content, Thought, Call, CallEnded };

  bool advance(bool last, std::vector<AnswerPiece>& to);
  bool advance_between(bool last);
  bool advance_header(bool last, std::vector<AnswerPiece>& to);
  bool advance_body(bool last, std::vector<AnswerPiece>& to);
  void begin_body(std::string_view header, std::vector<AnswerPiece>& to);
  void body(std::string_view text, std::vector<AnswerPiece>& to);
  void call(std::string_view text, std::vector<AnswerPiece>& to);
  void end_body(std::vector<AnswerPiece>& to);

  FunctionTypes functions_;
  Options options_;
  Where where_;
  bool role_ahead_ = false;  ///< of a header: the first one's is in the prompt
  std::string pending_;      ///< text that is not understood yet
  Kind kind_ = Kind::Content;
  bool fresh_ = true;  ///< nothing of the message has been told
  bool any_content_ = false;
  bool any_thought_ = false;
  std::string function_;  ///< that the message calls
  std::string withheld_;  ///< of a call that has not begun: content if it does not
  bool call_has_begun_ = false;
  JsonCallReader reader_;
  int calls_ = 0;
};

}  // namespace augur
