#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace augur::cli {

/// A key of a configuration file.
struct TomlKey {
  std::string name;
  std::vector<std::string> values;  ///< as flags take them: "true", "0.5", "text"
  bool is_list = false;
  bool is_flag = false;  ///< true or false
  int line = 0;
};

/// The keys of a file of TOML 1.0 in the order of their lines. Error naming the file, and the line, where it
/// cannot be read, is no TOML, is larger than a mebibyte, or has tables or dates.
std::vector<TomlKey> read_toml(const std::string& path);

/// A text as TOML has it, in quotes.
std::string toml_text(std::string_view text);

}  // namespace augur::cli
