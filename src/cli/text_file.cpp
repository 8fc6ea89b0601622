#include "cli/text_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "base/atomic_file.h"
#include "base/error.h"
#include "cli/output.h"

namespace augur::cli {

std::string read_text(const std::string& path) {
  const auto slurp = [&](std::istream& in) {
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (in.bad()) throw Error(ErrorKind::NotFound, "{}: reading failed", path);
    return text;
  };
  if (path == "-") return slurp(std::cin);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorKind::NotFound, "{}: cannot be read: {}", path, std::strerror(errno));
  if (std::filesystem::is_directory(path))
    throw Error(ErrorKind::NotFound, "{}: cannot be read: {}", path, std::strerror(EISDIR));
  return slurp(file);
}

void write_text(const std::string& path, std::string_view text) {
  if (path == "-") {
    Output out;
    out.write(text);
    out.finish();
    return;
  }
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace augur::cli
