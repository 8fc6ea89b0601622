#include "text/tokenizer/turns.h"

#include <algorithm>
#include <string>

namespace augur {
namespace {

// Those that is_end_of_any_type() means come first.
constexpr std::string_view kEndTexts[] = {
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|return|>",
    "<|call|>",
    "<|calls|>",
    "<|flush|>",
    "<|end|>",
    "<end_of_turn>",
    "<turn|>",
    "<|tool_response>",
    "<end_of_utterance>",
    "<\uFF5Cend\u2581of\u2581sentence\uFF5C>",
    // What may be text elsewhere.
    "</s>",
    "<eos>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "[e~[",
    // Of fill-in formats: padding, the next repository and the next file.
    "<|fim_pad|>",
    "<fim-pad>",
    "<fim_pad>",
    "<PAD>",
    "[PAD]",
    "<|fim_repo|>",
    "<|repo_name|>",
    "<fim-repo>",
    "<REPO>",
    "<reponame>",
    "<|file_sep|>",
};
constexpr std::size_t kOfAnyType = 15;
static_assert(kEndTexts[kOfAnyType] == "</s>");

}  // namespace

std::span<const std::string_view> end_texts() {
  return kEndTexts;
}

bool is_end_of_any_type(std::string_view text) {
  const auto of_any_type = end_texts().first(kOfAnyType);
  return std::ranges::find(of_any_type, text) != of_any_type.end();
}

void keep_messages_in_turns(Tokenizer& tokenizer) {
  const auto text_of = [&](TokenId id) {
    return id < tokenizer.vocab_size() ? tokenizer.token_bytes(id) : std::string();
  };
  const auto ends = [&](std::string_view text) {
    return std::ranges::any_of(tokenizer.eos, [&](TokenId id) { return text_of(id) == text; });
  };
  const auto is_no_end = [&](std::string_view text) {
    std::erase_if(tokenizer.eos, [&](TokenId id) { return text_of(id) == text; });
  };
  if (ends("<|end|>")) {
    // A folder's list of ends need not hold those that tell the format.
    bool returns = false, calls = false, flushes = false, calls_several = false;
    for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
      if (!tokenizer.is_special(id)) continue;
      const std::string text = tokenizer.token_bytes(id);
      returns |= text == "<|return|>";
      calls |= text == "<|call|>";
      flushes |= text == "<|flush|>";
      calls_several |= text == "<|calls|>";
    }
    if ((returns && calls) || (flushes && (calls || calls_several))) is_no_end("<|end|>");
  }
  if (ends("</s>") && (ends("<|tool_response>") || ends("<|plamo:eos|>"))) is_no_end("</s>");
}

}  // namespace augur
