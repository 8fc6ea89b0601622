#include "base/small_file.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace augur {

std::string read_small_file(const std::string& path, std::string_view what, std::string_view name) {
  constexpr std::size_t kLargest = std::size_t{1} << 20;
  if (name.empty()) name = path;
  if (std::filesystem::is_directory(path))
    throw Error(ErrorKind::NotFound, "{}: is a folder: expected {}", name, what);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorKind::NotFound, "{}: cannot be read: {}", name, std::strerror(errno));
  std::string text(kLargest + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) throw Error(ErrorKind::NotFound, "{}: reading failed", name);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kLargest) throw Error("{}: expected {} of at most 1 MiB", name, what);
  return text;
}

}  // namespace augur
