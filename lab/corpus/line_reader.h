#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace augur {

/// Lines of a text file, plain or compressed (.xz). Error naming the file for one that cannot be read, and
/// file and line for damaged compressed data, a line beyond 64 MiB, or compressed data that takes more memory
/// or becomes longer than that of a text. Not thread-safe.
class LineReader {
 public:
  explicit LineReader(const std::filesystem::path& path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// False at the end. `line` is without its line break.
  bool next(std::string& line);
  /// 1-based number of the line that next() gave last, for messages.
  std::int64_t number() const { return number_; }
  const std::string& file() const { return file_; }

 private:
  struct Source;
  bool fill();

  std::string file_;
  std::unique_ptr<Source> source_;
  std::string buffer_;
  std::size_t start_ = 0;
  std::int64_t number_ = 0;
  bool at_end_ = false;
};

}  // namespace augur
