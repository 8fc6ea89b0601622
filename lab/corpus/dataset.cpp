#include "lab/corpus/dataset.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/philox.h"
#include "files/json_reader.h"
#include "lab/corpus/chat_record.h"
#include "lab/corpus/line_reader.h"
#include "text/prompt_text.h"

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

void Dataset::append(std::span<const TokenId> tokens, std::span<const std::uint8_t> learn,
                     const std::string& where) {
  if (options_.refuses && options_.refuses(tokens, where)) {
    ++refused_;
    return;
  }
  const auto length = std::min(tokens.size(), static_cast<std::size_t>(options_.max_length));
  tokens = tokens.first(length);
  learn = learn.first(length);
  if (length < 3 || std::none_of(learn.begin(), learn.end(), [](auto l) { return l != 0; })) return;
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  learn_.insert(learn_.end(), learn.begin(), learn.end());
  begins_.push_back(tokens_.size());
}

void Dataset::add_chat(const std::vector<Message>& messages, const std::string& where) {
  const auto is_assistants = [](const Message& message) { return message.role == "assistant"; };
  const auto turns = static_cast<std::size_t>(
      std::find_if(messages.rbegin(), messages.rend(), is_assistants).base() - messages.begin());
  const auto rendered = [&](std::size_t count, bool ask) {
    const std::vector<Message> first(messages.begin(), messages.begin() + static_cast<long>(count));
    try {
      return render_chat(*template_, tokenizer_, first, ask);
    } catch (const Error& error) {
      throw Error("{}: {}", where, error.what());
    }
  };
  if (turns == 0) return;
  const MarkedText whole = rendered(turns, false);
  const std::vector<TokenId> tokens = encode_chat(tokenizer_, whole);
  std::vector<std::uint8_t> learn(tokens.size(), 0);
  // A token that reaches over the end of `text` in the whole counts as what follows.
  const auto tokens_of = [&](const MarkedText& text) {
    const std::vector<TokenId> own = encode_chat(tokenizer_, text);
    return std::mismatch(own.begin(), own.end(), tokens.begin(), tokens.end()).second;
  };
  for (std::size_t i = 0; i < turns; ++i) {
    if (!is_assistants(messages[i])) continue;
    const MarkedText prompt = rendered(i, true);
    if (!whole.text.starts_with(prompt.text)) {
      // What asks for an answer may be more than what answers begin with ("<think>"), the text before not.
      const std::string before = rendered(i, false).text;
      if (!whole.text.starts_with(before) || !prompt.text.starts_with(before)) continue;
    }
    const MarkedText answered = i + 1 == turns ? whole : rendered(i + 1, false);
    if (!whole.text.starts_with(answered.text)) continue;
    const auto begin = tokens_of(prompt) - tokens.begin();
    const auto end = i + 1 == turns ? std::ssize(tokens) : tokens_of(answered) - tokens.begin();
    std::fill(learn.begin() + begin, learn.begin() + std::max(begin, end), 1);
  }
  append(tokens, learn, where);
}

void Dataset::add_text(const std::string& text, const std::string& where) {
  std::vector<TokenId> tokens = encode_text(tokenizer_, text);
  if (options_.eos >= 0) tokens.push_back(options_.eos);
  const std::size_t lead = tokenizer_.add_bos && !tokens.empty() && tokens.front() == tokenizer_.bos ? 1 : 0;
  const std::size_t room = static_cast<std::size_t>(options_.max_length) - lead;
  for (std::size_t begin = lead; begin < tokens.size(); begin += room) {
    const auto from = tokens.begin() + static_cast<long>(begin);
    std::vector<TokenId> piece(tokens.begin(), tokens.begin() + static_cast<long>(lead));
    piece.insert(piece.end(), from, from + static_cast<long>(std::min(room, tokens.size() - begin)));
    std::vector<std::uint8_t> learn(piece.size(), 1);
    std::fill_n(learn.begin(), lead, 0);
    append(piece, learn, where);
  }
}

void Dataset::add_record(const std::string& line, const std::string& where) {
  const nlohmann::json record = parse_json(line, where);
  if (!record.is_object()) throw Error("{}: expected a JSON object", where);
  if (record.contains("messages")) {
    if (template_ == nullptr) throw Error("{}: a chat record, but the model has no chat template", where);
    add_chat(chat_messages(record["messages"], where), where);
  } else if (record.contains("prompt_ids") && record.contains("response_ids")) {
    std::vector<TokenId> tokens = token_ids(record, "prompt_ids", tokenizer_.vocab_size(), where);
    const std::size_t prompt = tokens.size();
    const std::vector<TokenId> response = token_ids(record, "response_ids", tokenizer_.vocab_size(), where);
    tokens.insert(tokens.end(), response.begin(), response.end());
    std::vector<std::uint8_t> learn(tokens.size(), 1);
    std::fill_n(learn.begin(), prompt, 0);
    append(tokens, learn, where);
  } else if (record.contains("text") && record["text"].is_string()) {
    add_text(record["text"].get_ref<const std::string&>(), where);
  } else {
    throw Error("{}: expected one of the keys text, messages, or prompt_ids with response_ids", where);
  }
}

void Dataset::add_file(const std::filesystem::path& path, const std::function<void(std::int64_t)>& progress) {
  LineReader reader(path);
  const std::int64_t before = tokens();
  std::int64_t records = 0;
  for (std::string line; reader.next(line);) {
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    const std::int64_t sequences = size() + refused();
    add_record(line, fmt::format("{}: line {}", reader.file(), reader.number()));
    ++records;
    if (size() + refused() == sequences) ++left_out_;
    if (progress && reader.number() % 1000 == 0) progress(tokens());
    if (options_.max_tokens > 0 && tokens() - before >= options_.max_tokens) return;
  }
  if (tokens() == before) throw Error("{}: nothing to learn in any of {} records", reader.file(), records);
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
