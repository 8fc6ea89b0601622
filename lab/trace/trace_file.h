#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/atomic_file.h"
#include "files/mapped_file.h"
#include "lab/trace/trace.h"

namespace augur {

// A file of traces, little-endian:
//   "AUGTRACE", u32 version, u32 bytes of the header, the header as JSON
//   per sequence: u64 bytes, u64 FNV-1a of them, the sequence (arrays behind their u32 counts)
//   at the end: u64 0, u64 number of sequences

/// Writes a file of traces. It appears under its name when finish() returns. Not thread-safe.
class TraceWriter {
 public:
  TraceWriter(const std::filesystem::path& path, const TraceHeader& header);
  /// Error naming file and sequence where a log-probability is not finite: no reader would take it.
  void write(const TraceSequence& sequence);
  void finish();

 private:
  std::string path_;
  AtomicFile file_;
  bool target_probabilities_;
  std::uint64_t count_ = 0;
  std::string buffer_;
};

/// Reads one, sequence by sequence. Error naming the file, and the sequence, for what is no trace, of another
/// version, cut short or damaged.
class TraceReader {
 public:
  explicit TraceReader(const std::filesystem::path& path);
  const TraceHeader& header() const { return header_; }
  const std::string& path() const { return file_.path(); }
  /// False at the end.
  bool next(TraceSequence& sequence);

 private:
  MappedFile file_;
  TraceHeader header_;
  std::size_t at_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace augur
