#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace augur {

/// Hashes of what files hold: figures of two models, parts or programs are not mixed because their files have
/// the same names. A file is read once. One thread at a time.
class ContentHashes {
 public:
  /// Of a file; of a folder all files in it but notes (.md), with their names; of what is not there, of its
  /// name. Error naming a file that cannot be read.
  std::uint64_t of(const std::filesystem::path& path);

 private:
  std::uint64_t of_file(const std::filesystem::path& file);

  std::map<std::filesystem::path, std::uint64_t> known_;
};

/// Of what a file holds with a text in it, wherever it stands, as zeros. Error naming a file that cannot be
/// read.
std::uint64_t hash_without(const std::filesystem::path& file, std::string_view text);

/// The version of this program and the hash of its file: another build may be faster or slower. The name of
/// its commit, which nothing depends on, is left out.
std::string program_identity();

}  // namespace augur
