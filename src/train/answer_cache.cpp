#include "train/answer_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "io/atomic_file.h"

namespace augur {

namespace {

[[noreturn]] void fail(const std::filesystem::path& file, const char* what) {
  throw Error("{}: {}: {}", file.string(), what, std::strerror(errno));
}

}  // namespace

AnswerCache::AnswerCache(const std::filesystem::path& file, const std::string& settings) : file_(file) {
  check_settings(settings);
  read();
  descriptor_ = open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail(file_, "cannot be opened for writing");
  if (ftruncate(descriptor_, valid_bytes_) != 0 || lseek(descriptor_, 0, SEEK_END) < 0) {
    const int error = errno;
    close(descriptor_);
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
  AtomicFile out(beside);
  out.write(settings + "\n");
  out.commit();
}

void AnswerCache::read() {
  std::ifstream in(file_, std::ios::binary);
  std::string line;
  for (std::int64_t number = 1; std::getline(in, line); ++number) {
    if (in.eof()) return;  // no line break: it was being written
    const nlohmann::json record = nlohmann::json::parse(line, nullptr, false);
    if (!record.is_object() || !record.contains("source") || !record["source"].is_string() ||
        !record.contains("response_ids") || !record["response_ids"].is_array()) {
      throw Error("{}: line {}: expected an answer with source and response_ids", file_.string(), number);
    }
    done_.insert(record["source"].get<std::string>());
    response_tokens_ += static_cast<std::int64_t>(record["response_ids"].size());
    valid_bytes_ += static_cast<std::int64_t>(line.size()) + 1;
  }
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
  done_.insert(answer.source);
  response_tokens_ += static_cast<std::int64_t>(answer.response.size());
}

void AnswerCache::flush() {
  if (fsync(descriptor_) != 0) fail(file_, "cannot be written");
}

}  // namespace augur
