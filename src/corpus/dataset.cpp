#include "corpus/dataset.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/philox.h"
#include "corpus/chat_record.h"
#include "corpus/line_reader.h"
#include "io/json_reader.h"

namespace augur {

namespace {

std::vector<TokenId> token_ids(const nlohmann::json& record, const char* key, std::int32_t vocabulary,
                               const std::string& where) {
  const nlohmann::json& list = record.at(key);
  if (!list.is_array()) throw Error("{}: {}: expected a list of token ids", where, key);
  std::vector<TokenId> ids;
  ids.reserve(list.size());
  for (const nlohmann::json& id : list) {
    if (!id.is_number_integer() || id < 0 || id >= vocabulary) {
      throw Error("{}: {}: {} is not a token id below {}", where, key, id.dump(), vocabulary);
    }
    ids.push_back(id.get<TokenId>());
  }
  return ids;
}

}  // namespace

void Dataset::append(std::span<const TokenId> tokens, std::span<const std::uint8_t> learn) {
  const auto length = std::min(tokens.size(), static_cast<std::size_t>(options_.max_length));
  tokens = tokens.first(length);
  learn = learn.first(length);
  if (length < 3 || std::none_of(learn.begin(), learn.end(), [](auto l) { return l != 0; })) return;
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  learn_.insert(learn_.end(), learn.begin(), learn.end());
  begins_.push_back(tokens_.size());
}

void Dataset::add_chat(const std::vector<ChatMessage>& messages) {
  // The template is rendered up to each assistant turn with the generation prompt, and after it: what the
  // turn added is what the model should learn to say.
  std::vector<TokenId> tokens;
  std::vector<std::uint8_t> learn;
  std::string shown;
  const auto extend = [&](const std::string& text, bool wanted) {
    if (!text.starts_with(shown)) return false;
    const std::vector<TokenId> more = tokenizer_.encode(text.substr(shown.size()));
    tokens.insert(tokens.end(), more.begin(), more.end());
    learn.insert(learn.end(), more.size(), wanted ? 1 : 0);
    shown = text;
    return true;
  };
  const nlohmann::json none = nlohmann::json::object();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role != "assistant") continue;
    const std::vector<ChatMessage> before(messages.begin(), messages.begin() + static_cast<long>(i));
    const std::vector<ChatMessage> with(messages.begin(), messages.begin() + static_cast<long>(i) + 1);
    if (!extend(template_->render(before, true, none), false)) return;
    if (!extend(template_->render(with, false, none), true)) return;
  }
  append(tokens, learn);
}

void Dataset::add_record(const std::string& line, const std::string& where) {
  const nlohmann::json record = parse_json(line, where);
  if (!record.is_object()) throw Error("{}: expected a JSON object", where);
  if (record.contains("messages")) {
    if (template_ == nullptr) throw Error("{}: a chat record, but the model has no chat template", where);
    add_chat(chat_messages(record["messages"], where));
  } else if (record.contains("prompt_ids") && record.contains("response_ids")) {
    std::vector<TokenId> tokens = token_ids(record, "prompt_ids", tokenizer_.vocab_size(), where);
    const std::size_t prompt = tokens.size();
    const std::vector<TokenId> response = token_ids(record, "response_ids", tokenizer_.vocab_size(), where);
    tokens.insert(tokens.end(), response.begin(), response.end());
    std::vector<std::uint8_t> learn(tokens.size(), 1);
    std::fill_n(learn.begin(), prompt, 0);
    append(tokens, learn);
  } else if (record.contains("text") && record["text"].is_string()) {
    std::vector<TokenId> tokens = tokenizer_.encode(record["text"].get_ref<const std::string&>());
    if (options_.eos >= 0) tokens.push_back(options_.eos);
    const auto piece = static_cast<std::size_t>(options_.max_length);
    const std::vector<std::uint8_t> learn(std::min(tokens.size(), piece), 1);
    for (std::size_t begin = 0; begin < tokens.size(); begin += piece) {
      const std::size_t length = std::min(piece, tokens.size() - begin);
      append(std::span(tokens).subspan(begin, length), std::span(learn).first(length));
    }
  } else {
    throw Error("{}: expected one of the keys text, messages, or prompt_ids with response_ids", where);
  }
}

void Dataset::add_file(const std::filesystem::path& path, const std::function<void(std::int64_t)>& progress) {
  LineReader reader(path);
  const std::int64_t before = tokens();
  for (std::string line; reader.next(line);) {
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    add_record(line, fmt::format("{}: line {}", reader.file(), reader.number()));
    if (progress && reader.number() % 1000 == 0) progress(tokens());
    if (options_.max_tokens > 0 && tokens() - before >= options_.max_tokens) return;
  }
}

Example Dataset::operator[](std::int64_t index) const {
  const std::size_t begin = begins_[static_cast<std::size_t>(index)];
  const std::size_t length = begins_[static_cast<std::size_t>(index) + 1] - begin;
  return {std::span(tokens_).subspan(begin, length), std::span(learn_).subspan(begin, length)};
}

std::int64_t ShuffledOrder::at(std::int64_t position) {
  const std::int64_t epoch = position / size_;
  if (epoch != epoch_) {
    epoch_ = epoch;
    permutation_.resize(static_cast<std::size_t>(size_));
    std::iota(permutation_.begin(), permutation_.end(), 0);
    // Fisher-Yates with counter-based numbers: the same on every machine and standard library.
    for (std::int64_t i = size_ - 1; i > 0; --i) {
      const auto r = philox4x32({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32),
                                 static_cast<std::uint32_t>(epoch), 0x5348u},
                                seed_);
      const std::uint64_t wide = (std::uint64_t{r[0]} << 32) | r[1];
      const auto j = static_cast<std::size_t>(wide % static_cast<std::uint64_t>(i + 1));
      std::swap(permutation_[static_cast<std::size_t>(i)], permutation_[j]);
    }
  }
  return permutation_[static_cast<std::size_t>(position % size_)];
}

}  // namespace augur
