#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace augur {

/// What the keys of one name may take together; 0: as much as there is.
struct KeyLimits {
  std::int64_t answers = 0;            ///< that are generated at once: each prompt and each choice is one
  std::int64_t tokens_per_minute = 0;  ///< of prompts and answers

  friend bool operator==(const KeyLimits&, const KeyLimits&) = default;
};

/// One line that names a key:
///
///     NAME:KEY [requests=N] [tokens-per-minute=N] [metrics]
///
/// The name has letters, digits, '.', '_', '@' and '-'. Without "NAME:" the key has none.
struct ApiKey {
  static constexpr std::size_t kLongestSecret = 1024;

  std::string name;    ///< whose it is; empty: it does not say
  std::string secret;  ///< printable ASCII without blanks, of at most kLongestSecret
  KeyLimits limits;
  bool metrics_only = false;  ///< it opens /metrics, /load and /slots, of all clients, and nothing else
  std::string origin;         ///< where it stands, for errors
};

/// The keys in a text, one a line; empty lines say nothing, nor does what stands behind a '#' that begins a
/// word. Error naming `source` and the line, and never what stands there.
std::vector<ApiKey> parse_keys(std::string_view text, const std::string& source);

/// Whether everybody on the machine may read a file.
bool is_open_to_all(const std::string& path);

/// Those in a file ("-": standard input). Error naming it where it cannot be read, or is larger than a
/// mebibyte.
std::vector<ApiKey> read_key_file(const std::string& path);

}  // namespace augur
