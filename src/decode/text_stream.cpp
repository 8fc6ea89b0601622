#include "decode/text_stream.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace augur {

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_) {
    if (stop.empty()) throw Error(refused("stop"), "a stop string is empty");
  }
}

std::string StopMatcher::push(std::string_view piece) {
  if (stopped()) return {};
  held_ += piece;
  std::size_t match = std::string::npos;
  for (const std::string& stop : stops_) {
    if (const std::size_t at = held_.find(stop); at < match) {
      match = at;
      stop_string_ = stop;
    }
  }
  if (stopped()) {
    held_.resize(match);
    return std::exchange(held_, {});
  }
  std::size_t hold = 0;
  for (const std::string& stop : stops_) {
    for (std::size_t n = std::min(stop.size() - 1, held_.size()); n > hold; --n) {
      if (std::string_view(held_).ends_with(std::string_view(stop).substr(0, n))) hold = n;
    }
  }
  std::string released = held_.substr(0, held_.size() - hold);
  held_.erase(0, held_.size() - hold);
  return released;
}

std::string StopMatcher::flush() {
  return stopped() ? std::string{} : std::exchange(held_, {});
}

TextStream::TextStream(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                       std::vector<std::string> stops, StreamDecoder decoder)
    : tokenizer_(tokenizer), decoder_(std::move(decoder)), stop_(std::move(stops)) {
  for (const TokenId token : prompt) {
    if (token < tokenizer.vocab_size()) decoder_.push(token);
  }
}

std::string TextStream::push(TokenId token) {
  if (token >= tokenizer_.vocab_size()) return {};
  return stop_.push(decoder_.push(token));
}

std::string TextStream::flush() {
  std::string out = stop_.push(decoder_.flush());
  return out + stop_.flush();
}

}  // namespace augur
