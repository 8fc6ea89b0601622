#include "server/keys/api_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "base/small_file.h"

namespace augur {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::int64_t kMost = std::int64_t{1} << 40;
constexpr std::string_view kBlanks = " \t\r";

bool is_name(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && text.size() <= kLongestName && is_letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_letter(c) || c == '.' || c == '_' || c == '@' || c == '-'; });
}

/// What keys without a name are called (KeyRing).
bool is_made_up(std::string_view name) {
  constexpr std::string_view kNumbered = "key-";
  return name.starts_with(kNumbered) && name.size() > kNumbered.size() &&
         name.find_first_not_of("0123456789", kNumbered.size()) == std::string_view::npos;
}

/// The words of a line up to a comment.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(kBlanks); at < line.size() && line[at] != '#';) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = std::min(line.find_first_not_of(kBlanks, end), line.size());
  }
  return words;
}

/// The number behind "NAME="; nothing where the word is another.
std::optional<std::int64_t> number_of(std::string_view word, std::string_view name,
                                      const std::string& where) {
  if (!word.starts_with(name) || word.size() <= name.size() || word[name.size()] != '=') return std::nullopt;
  word.remove_prefix(name.size() + 1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || value < 1 || value > kMost) {
    throw Error("{}: {}: expected a number from 1 to {}", where, name, kMost);
  }
  return value;
}

void read_word(std::string_view word, ApiKey& key) {
  if (word == "metrics") {
    key.metrics_only = true;
  } else if (const auto answers = number_of(word, "requests", key.origin)) {
    key.limits.answers = *answers;
  } else if (const auto tokens = number_of(word, "tokens-per-minute", key.origin)) {
    key.limits.tokens_per_minute = *tokens;
  } else {  // which may be a part of a key
    throw Error("{}: expected nothing behind the key but requests=N, tokens-per-minute=N or metrics",
                key.origin);
  }
}

ApiKey read_line(std::vector<std::string_view> words, const std::string& where) {
  ApiKey key{.name = {}, .secret = {}, .limits = {}, .metrics_only = false, .origin = where};
  std::string_view secret = words.front();
  words.erase(words.begin());
  if (const std::size_t colon = secret.find(':'); colon != std::string_view::npos) {
    key.name = secret.substr(0, colon);
    secret.remove_prefix(colon + 1);
    if (!is_name(key.name)) {
      throw Error("{}: expected NAME:KEY with a name of at most {} letters, digits, '.', '_', '@' and '-'",
                  where, kLongestName);
    }
    if (is_made_up(key.name)) {
      throw Error("{}: expected another name than {}: keys without a name are called so", where, key.name);
    }
    if (secret.empty() && !words.empty()) {  // "NAME: KEY"
      secret = words.front();
      words.erase(words.begin());
    }
  }
  if (secret.empty()) throw Error("{}: the key of '{}' is missing: expected NAME:KEY", where, key.name);
  const bool plain = std::all_of(secret.begin(), secret.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!plain || secret.size() > ApiKey::kLongestSecret) {
    throw Error("{}: expected a key of at most {} printable characters of ASCII", where,
                ApiKey::kLongestSecret);
  }
  key.secret = secret;
  for (const std::string_view word : words) read_word(word, key);
  if (key.metrics_only && key.limits != KeyLimits{}) {
    throw Error("{}: expected no limits of a key that opens the metrics alone", where);
  }
  return key;
}

}  // namespace

std::vector<ApiKey> parse_keys(std::string_view text, const std::string& source) {
  std::vector<ApiKey> keys;
  const bool many = text.find('\n') != std::string_view::npos;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string_view> words = words_of(text.substr(0, end));
    const std::string where = many ? fmt::format("{}: line {}", source, number) : source;
    if (!words.empty()) keys.push_back(read_line(words, where));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return keys;
}

bool is_open_to_all(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  return !error && std::filesystem::is_regular_file(status) &&
         (status.permissions() & std::filesystem::perms::others_read) != std::filesystem::perms::none;
}

std::vector<ApiKey> read_key_file(const std::string& path) {
  const std::string file = path == "-" ? "/dev/stdin" : path;
  return parse_keys(read_small_file(file, "a file of API keys", path), path);
}

}  // namespace augur
