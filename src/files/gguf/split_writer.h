#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "files/gguf/writer.h"

namespace augur {

/// How large the parts of a file may be; 0: that does not matter. One that neither bounds is not split.
struct GgufSplit {
  std::int64_t max_bytes = 0;  ///< of a part's tensors, headers not counted; one larger tensor is a part
  std::int64_t max_tensors = 0;

  bool wanted() const { return max_bytes > 0 || max_tensors > 0; }
};

/// Writes a GGUF file as GgufWriter does, or its parts (split.h), which appear together when finish()
/// returns: of OUT.gguf OUT-00001-of-0000N.gguf and so on, also where there is only one. Not thread-safe.
class SplitGgufWriter {
 public:
  /// Makes all files, as temporary ones, with their headers. Error as of GgufWriter, and for more parts than
  /// the format can count.
  SplitGgufWriter(const std::filesystem::path& path, const GgufMetadata& metadata,
                  const std::vector<GgufWriter::Entry>& entries, const GgufSplit& split);

  /// The next bytes of the tensors, which follow each other in the order of `entries`.
  void write(std::span<const std::byte> bytes);
  /// Error unless every tensor has been written in full.
  void finish();

  const std::vector<std::filesystem::path>& paths() const { return paths_; }

 private:
  std::vector<std::filesystem::path> paths_;
  std::vector<std::unique_ptr<GgufWriter>> parts_;
  std::vector<std::uint64_t> left_;  ///< bytes of its tensors that are to be written, by part
  std::size_t part_ = 0;             ///< being written
};

}  // namespace augur
