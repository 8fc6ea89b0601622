#include "lab/corpus/line_reader.h"

#include <lzma.h>

#include <array>
#include <fstream>

#include "base/error.h"

namespace augur {

namespace {
constexpr std::size_t kLongestLine = std::size_t{64} << 20;
constexpr std::size_t kChunk = std::size_t{1} << 18;
// What a compressed file may ask of the machine. Text shrinks to a tenth, repetitive text to a hundredth.
constexpr std::uint64_t kDecoderMemory = std::uint64_t{256} << 20;  ///< xz -9 takes 65 MiB
constexpr std::uint64_t kMostExpansion = 1000;                      ///< of all beyond the first kFreeBytes
constexpr std::uint64_t kFreeBytes = std::uint64_t{64} << 20;
}  // namespace

struct LineReader::Source {
  std::ifstream stream;
  bool compressed = false;
  lzma_stream lzma = LZMA_STREAM_INIT;
  lzma_action action = LZMA_RUN;
  std::array<char, kChunk> input;

  ~Source() { lzma_end(&lzma); }
};

LineReader::LineReader(const std::filesystem::path& path)
    : file_(path.string()), source_(std::make_unique<Source>()) {
  source_->stream.open(path, std::ios::binary);
  if (!source_->stream) throw Error("{}: cannot be opened for reading", file_);
  source_->compressed = path.extension() == ".xz";
  if (source_->compressed &&
      lzma_stream_decoder(&source_->lzma, kDecoderMemory, LZMA_CONCATENATED) != LZMA_OK) {
    throw Error("{}: cannot start the xz decoder", file_);
  }
}

LineReader::~LineReader() = default;

bool LineReader::fill() {
  Source& s = *source_;
  buffer_.erase(0, start_);
  start_ = 0;
  const std::size_t held = buffer_.size();
  if (held > kLongestLine) throw Error("{}: line {}: longer than {} bytes", file_, number_ + 1, kLongestLine);
  if (!s.compressed) {
    buffer_.resize(held + kChunk);
    s.stream.read(buffer_.data() + held, static_cast<std::streamsize>(kChunk));
    buffer_.resize(held + static_cast<std::size_t>(s.stream.gcount()));
    if (s.stream.bad()) throw Error("{}: line {}: reading failed", file_, number_ + 1);
    return buffer_.size() > held;
  }
  buffer_.resize(held + 4 * kChunk);
  s.lzma.next_out = reinterpret_cast<std::uint8_t*>(buffer_.data() + held);
  s.lzma.avail_out = 4 * kChunk;
  lzma_ret status = LZMA_OK;
  while (s.lzma.avail_out > 0 && status == LZMA_OK) {
    if (s.lzma.avail_in == 0 && s.action == LZMA_RUN) {
      s.stream.read(s.input.data(), static_cast<std::streamsize>(kChunk));
      s.lzma.next_in = reinterpret_cast<const std::uint8_t*>(s.input.data());
      s.lzma.avail_in = static_cast<std::size_t>(s.stream.gcount());
      if (s.stream.bad()) throw Error("{}: line {}: reading failed", file_, number_ + 1);
      if (s.stream.eof()) s.action = LZMA_FINISH;
    }
    status = lzma_code(&s.lzma, s.action);
  }
  if (status == LZMA_MEMLIMIT_ERROR) {
    throw Error("{}: unpacking it takes {} MiB of memory: expected at most {} (xz -9 takes 65)", file_,
                lzma_memusage(&s.lzma) >> 20, kDecoderMemory >> 20);
  }
  if (s.lzma.total_out > kFreeBytes + kMostExpansion * s.lzma.total_in) {
    throw Error("{}: line {}: {} bytes of xz data unpack to more than {} times as many: no text does", file_,
                number_ + 1, s.lzma.total_in, kMostExpansion);
  }
  if (status != LZMA_OK && status != LZMA_STREAM_END) {
    throw Error("{}: line {}: damaged or truncated xz data", file_, number_ + 1);
  }
  buffer_.resize(held + 4 * kChunk - s.lzma.avail_out);
  return buffer_.size() > held;
}

bool LineReader::next(std::string& line) {
  std::size_t searched = start_;
  while (true) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      line.assign(buffer_, start_, end - start_);
      start_ = end + 1;
      break;
    }
    const std::size_t held = buffer_.size() - start_;
    if (at_end_ || !fill()) {
      at_end_ = true;
      if (held == 0) return false;
      line.assign(buffer_, start_, held);
      start_ = buffer_.size();
      break;
    }
    searched = start_ + held;
  }
  if (!line.empty() && line.back() == '\r') line.pop_back();
  ++number_;
  return true;
}

}  // namespace augur
