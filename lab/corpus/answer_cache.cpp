#include "lab/corpus/answer_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/fnv1a.h"

namespace augur {

namespace {

[[noreturn]] void fail(const std::filesystem::path& file, const char* what) {
  throw Error("{}: {}: {}", file.string(), what, std::strerror(errno));
}

std::uint64_t hash_of(std::span<const TokenId> tokens) {
  Fnv1a hash;
  for (const TokenId token : tokens) hash.add(static_cast<std::uint32_t>(token));
  return hash.value();
}

bool is_list_of_tokens(const nlohmann::json& record, const char* key) {
  const auto list = record.find(key);
  return list != record.end() && list->is_array() &&
         std::all_of(list->begin(), list->end(), [](const auto& id) { return id.is_number_integer(); });
}

/// Whether an answer was being written when the writer was stopped.
bool begins_like_an_answer(std::string_view tail) {
  constexpr std::string_view kBegin = "{\"source\":";
  return tail.substr(0, kBegin.size()) == kBegin.substr(0, tail.size());
}

/// A line of the file, and which prompt it answers.
struct Line {
  std::string file;
  std::int64_t number = 0;
  std::string source;
  std::streamoff begin = 0;
  std::size_t bytes = 0;  ///< without the line break

  bool operator<(const Line& other) const {
    return std::tie(file, number, source) < std::tie(other.file, other.number, other.source);
  }
};

/// A source as prompts have it ("code.jsonl.xz:12"); without a number, the first of its name.
void set_source(Line& line, std::string source) {
  const std::size_t colon = source.rfind(':');
  line.file = source.substr(0, colon);
  if (colon != std::string::npos)
    std::from_chars(source.data() + colon + 1, source.data() + source.size(), line.number);
  line.source = std::move(source);
}

}  // namespace

AnswerCache::AnswerCache(const std::filesystem::path& file, const std::string& settings) : file_(file) {
  check_settings(settings);
  read();
  open_end();
}

/// For writing, behind the last complete line.
void AnswerCache::open_end() {
  descriptor_ = open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail(file_, "cannot be opened for writing");
  if (ftruncate(descriptor_, valid_bytes_) != 0 || lseek(descriptor_, 0, SEEK_END) < 0) {
    const int error = errno;
    close(std::exchange(descriptor_, -1));
    errno = error;
    fail(file_, "cannot be continued");
  }
}

AnswerCache::~AnswerCache() {
  if (descriptor_ >= 0) close(descriptor_);
}

void AnswerCache::check_settings(const std::string& settings) const {
  const std::filesystem::path beside = file_.string() + ".settings";
  if (std::ifstream in(beside); in) {
    std::string found;
    std::getline(in, found);
    if (found != settings) {
      throw Error(
          "{}: the answers were made with\n  {}\nand are to be continued with\n  {}\nChoose another file",
          beside.string(), found, settings);
    }
    return;
  }
  if (std::filesystem::exists(file_) &&
      !(std::filesystem::is_regular_file(file_) && std::filesystem::file_size(file_) == 0)) {
    throw Error("{}: is there, but {} is not: these are no answers to be continued. Choose another file",
                file_.string(), beside.string());
  }
  AtomicFile out(beside);
  out.write(settings + "\n");
  out.commit();
}

void AnswerCache::read() {
  if (!std::filesystem::exists(file_)) return;
  std::ifstream in(file_, std::ios::binary);
  if (!in) fail(file_, "cannot be opened for reading");
  std::string line;
  std::int64_t number = 1;
  for (; std::getline(in, line); ++number) {
    const auto wrong = [&] {
      return Error("{}: line {}: expected an answer with source, prompt_ids and response_ids", file_.string(),
                   number);
    };
    if (in.eof()) {  // no line break: it was being written
      if (!begins_like_an_answer(line)) throw wrong();
      return;
    }
    const nlohmann::json record = nlohmann::json::parse(line, nullptr, false);
    if (!record.is_object() || !record.contains("source") || !record["source"].is_string() ||
        !is_list_of_tokens(record, "prompt_ids") || !is_list_of_tokens(record, "response_ids")) {
      throw wrong();
    }
    done_[record["source"].get<std::string>()] = hash_of(record["prompt_ids"].get<std::vector<TokenId>>());
    response_tokens_ += static_cast<std::int64_t>(record["response_ids"].size());
    valid_bytes_ += static_cast<std::int64_t>(line.size()) + 1;
  }
  if (in.bad()) throw Error("{}: line {}: reading failed", file_.string(), number);
}

bool AnswerCache::has(const std::string& source, std::span<const TokenId> prompt) const {
  const auto found = done_.find(source);
  if (found == done_.end()) return false;
  if (found->second != hash_of(prompt)) {
    throw Error(
        "{}: {} was answered there for another prompt: from another file of this name, or before it was "
        "changed. Choose another file for the answers",
        file_.string(), source);
  }
  return true;
}

void AnswerCache::add(const Answer& answer) {
  const nlohmann::ordered_json record = {{"source", answer.source},
                                         {"domain", answer.domain},
                                         {"temperature", answer.temperature},
                                         {"prompt_ids", answer.prompt},
                                         {"response_ids", answer.response}};
  const std::string line = record.dump() + "\n";
  for (std::size_t written = 0; written < line.size();) {
    const ssize_t n = write(descriptor_, line.data() + written, line.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(file_, "cannot be written");
    written += static_cast<std::size_t>(n);
  }
  done_[answer.source] = hash_of(answer.prompt);
  response_tokens_ += static_cast<std::int64_t>(answer.response.size());
}

void AnswerCache::flush() {
  if (fsync(descriptor_) != 0) fail(file_, "cannot be written");
}

void AnswerCache::sort() {
  std::ifstream in(file_, std::ios::binary);
  if (!in) fail(file_, "cannot be opened for reading");
  std::vector<Line> lines;
  std::streamoff begin = 0;
  for (std::string text; std::getline(in, text); begin += static_cast<std::streamoff>(text.size()) + 1) {
    Line line{.begin = begin, .bytes = text.size()};
    set_source(line, nlohmann::json::parse(text).at("source").get<std::string>());
    lines.push_back(std::move(line));
  }
  if (std::is_sorted(lines.begin(), lines.end())) return;
  std::stable_sort(lines.begin(), lines.end());
  AtomicFile out(file_);
  in.clear();
  for (const Line& line : lines) {
    std::string text(line.bytes + 1, '\n');
    in.seekg(line.begin);
    if (!in.read(text.data(), static_cast<std::streamsize>(text.size()))) fail(file_, "cannot be read");
    out.write(text);
  }
  out.commit();
  close(std::exchange(descriptor_, -1));
  valid_bytes_ = begin;
  open_end();
}

}  // namespace augur
