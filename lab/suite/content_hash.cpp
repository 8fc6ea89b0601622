#include "lab/suite/content_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "augur/build_info.h"
#include "augur/engine.h"
#include "files/mapped_file.h"
#include "lab/suite/cell.h"

namespace augur {
namespace {

namespace fs = std::filesystem;

/// FNV-1a in steps of eight bytes, in four sums side by side: as fast as a file is read. What a step shifts
/// out of the upper half, the next one brings down.
std::uint64_t hash_content(std::span<const std::byte> bytes) {
  constexpr std::uint64_t kPrime = 1099511628211u;
  constexpr std::size_t kSums = 4;
  std::array<std::uint64_t, kSums> sums = {kHashStart, kHashStart + 1, kHashStart + 2, kHashStart + 3};
  std::size_t at = 0;
  for (; at + sizeof sums <= bytes.size(); at += sizeof sums) {
    std::array<std::uint64_t, kSums> words;
    std::memcpy(words.data(), bytes.data() + at, sizeof words);
    for (std::size_t i = 0; i < kSums; ++i) {
      const std::uint64_t mixed = (sums[i] ^ words[i]) * kPrime;
      sums[i] = mixed ^ (mixed >> 32);
    }
  }
  const std::uint64_t length = bytes.size();
  return hash_bytes(std::as_bytes(std::span(&length, 1)),
                    hash_bytes(bytes.subspan(at), hash_bytes(std::as_bytes(std::span(sums)))));
}

}  // namespace

std::uint64_t ContentHashes::of_file(const fs::path& file) {
  const auto [entry, fresh] = known_.try_emplace(file);
  // An empty file cannot be mapped.
  if (fresh)
    entry->second = hash_content(fs::file_size(file) == 0 ? std::span<const std::byte>()
                                                          : MappedFile(file.string()).bytes());
  return entry->second;
}

std::uint64_t ContentHashes::of(const fs::path& path) {
  if (fs::is_regular_file(path)) return of_file(path);
  std::uint64_t hash = hash_text(path.filename().string());
  if (!fs::is_directory(path)) return hash;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (entry.is_regular_file() && entry.path().extension() != ".md") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const std::uint64_t content = of_file(file);
    hash = hash_bytes(std::as_bytes(std::span(&content, 1)), hash_text(file.filename().string(), hash));
  }
  return hash;
}

std::uint64_t hash_without(const fs::path& file, std::string_view text) {
  const MappedFile mapped(file.string());
  std::string bytes(reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size());
  if (!text.empty()) {
    for (std::size_t at = 0; (at = bytes.find(text, at)) != std::string::npos; at += text.size()) {
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), text.size(), '\0');
    }
  }
  return hash_content(std::as_bytes(std::span(bytes)));
}

std::string program_identity() {
  return fmt::format("{} {}", version(), hex(hash_without("/proc/self/exe", build_info().commit)));
}

}  // namespace augur
