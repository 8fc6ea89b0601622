// Names and keys: https://github.com/ggml-org/llama.cpp/tree/master/tools/gguf-split
#include "files/gguf/split.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/error.h"
#include "files/gguf/gguf.h"

namespace augur {

namespace {

constexpr std::size_t kDigits = 5;

/// The number at the end of `text`, which is taken off; empty: there is none of five digits.
std::optional<std::int64_t> take_number(std::string_view& text) {
  if (text.size() < kDigits) return std::nullopt;
  const std::string_view digits = text.substr(text.size() - kDigits);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + kDigits, value);
  if (error != std::errc() || end != digits.data() + kDigits || value < 1) return std::nullopt;
  text.remove_suffix(kDigits);
  return value;
}

bool take(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

/// How many parts the file says it has; 1: it is no part.
std::int64_t count_of(const GgufFile& file) {
  const auto count = file.find_int(kSplitCountKey).value_or(1);
  if (count < 0 || count > kMostSplitParts) {
    throw Error("{}: {}: expected 0 to {}, found {}", file.name(), kSplitCountKey, kMostSplitParts, count);
  }
  return std::max<std::int64_t>(count, 1);
}

std::int64_t required(const GgufFile& file, const char* key) {
  const auto value = file.find_int(key);
  if (!value) throw Error("{}: is a part of a split GGUF file: the metadata lack {}", file.name(), key);
  return *value;
}

bool same(const GgufValue& a, const GgufValue& b) {
  return a.type == b.type && a.element == b.element && a.count == b.count &&
         std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end());
}

/// That `part` is the index-th of the file that `first` begins.
void check_part(const GgufFile& first, const GgufFile& part, std::int64_t index) {
  const std::int64_t count = required(first, kSplitCountKey);
  const std::int64_t number = required(part, kSplitNumberKey);
  if (number != index) {
    throw Error("{}: is part {} of {} by its {}, part {} was expected{}", part.name(), number + 1, count,
                kSplitNumberKey, index + 1,
                number >= 0 && number < index ? ": that part is there twice" : "");
  }
  for (const char* key : {kSplitCountKey, kSplitTensorsKey}) {
    const std::int64_t found = required(part, key);
    if (const std::int64_t expected = required(first, key); found != expected) {
      throw Error("{}: is a part of another file than {}: {} is {}, {} was expected", part.name(),
                  first.name(), key, found, expected);
    }
  }
  // Other keys, too, where a splitter repeats them.
  for (const auto& [key, value] : part.metadata()) {
    if (is_split_key(key) || key == "general.alignment") continue;
    const auto other = first.metadata().find(key);
    if (other == first.metadata().end() || same(value, other->second)) continue;
    throw Error("{}: is a part of another file than {}: {} differs", part.name(), first.name(), key);
  }
}

}  // namespace

bool is_split_key(std::string_view key) {
  return key == kSplitNumberKey || key == kSplitCountKey || key == kSplitTensorsKey;
}

std::optional<SplitName> parse_split_name(std::string_view name) {
  SplitName result;
  if (!take(name, ".gguf")) return std::nullopt;
  const auto count = take_number(name);
  if (!count || !take(name, "-of-")) return std::nullopt;
  const auto number = take_number(name);
  if (!number || *number > *count || !take(name, "-")) return std::nullopt;
  return SplitName{.prefix = std::string(name), .number = *number, .count = *count};
}

std::string split_name(const SplitName& name) {
  return fmt::format("{}-{:05}-of-{:05}.gguf", name.prefix, name.number, name.count);
}

GgufFile GgufFile::open(const std::filesystem::path& path) {
  GgufFile given = read(std::make_shared<const MappedFile>(path));
  const std::int64_t count = count_of(given);
  if (count == 1) return given;
  const std::int64_t number = required(given, kSplitNumberKey) + 1;
  const auto name = parse_split_name(path.string());
  if (!name || name->number != number || name->count != count) {
    throw Error("{}: is part {} of {} of a split GGUF file: expected a name that ends in {}", given.name(),
                number, count, split_name({.prefix = "", .number = number, .count = count}));
  }
  const auto open_part = [&](std::int64_t i) {
    const std::string part = split_name({.prefix = name->prefix, .number = i, .count = count});
    if (!file_exists(part))
      throw Error(ErrorKind::NotFound, "{}: is missing: part {} of {} of a split GGUF file", part, i, count);
    return read(std::make_shared<const MappedFile>(part));
  };
  std::vector<GgufFile> parts;
  for (std::int64_t i = 1; i < number; ++i) parts.push_back(open_part(i));
  parts.push_back(std::move(given));
  for (std::int64_t i = number + 1; i <= count; ++i) parts.push_back(open_part(i));
  return join(std::move(parts));
}

GgufFile GgufFile::join(std::vector<GgufFile> parts) {
  if (parts.empty()) throw Error("a GGUF file of no parts");
  GgufFile whole = std::move(parts.front());
  if (required(whole, kSplitCountKey) != std::ssize(parts)) {
    throw Error("{}: {}: expected {} parts, found {}", whole.name(), kSplitCountKey,
                required(whole, kSplitCountKey), parts.size());
  }
  check_part(whole, whole, 0);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    GgufFile& part = parts[i];
    check_part(whole, part, static_cast<std::int64_t>(i));
    for (GgufTensorInfo& info : part.tensors_) {
      info.part = i;
      if (const GgufTensorInfo* other = whole.find_tensor(info.name)) {
        throw Error("{}: tensor {} is also in {}", part.name(), info.name, whole.parts_[other->part].name);
      }
      whole.tensor_index_.emplace(info.name, whole.tensors_.size());
      whole.tensors_.push_back(std::move(info));
    }
    whole.parts_.push_back(std::move(part.parts_.front()));
  }
  if (const std::int64_t expected = required(whole, kSplitTensorsKey);
      expected != std::ssize(whole.tensors_)) {
    throw Error("{}: {} is {}, the {} parts have {} tensors", whole.name(), kSplitTensorsKey, expected,
                whole.parts_.size(), whole.tensors_.size());
  }
  return whole;
}

}  // namespace augur
