#include "cli/text_input.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "base/error.h"

namespace augur::cli {

std::string read_text(const std::string& path) {
  const auto slurp = [&](std::istream& in) {
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (in.bad()) throw Error("{}: reading failed", path);
    return text;
  };
  if (path == "-") return slurp(std::cin);
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) throw Error("{}: cannot be read", path);
  return slurp(file);
}

}  // namespace augur::cli
