#pragma once
#include <string_view>

namespace augur {
inline namespace abi1 {

/// What the library is made of. All texts live as long as the program.
struct BuildInfo {
  std::string_view version;  ///< "major.minor.patch"
  /// Of the source, twelve hexadecimal digits, with "-dirty" behind where files differ from it; "unknown"
  /// where neither git nor a release's archive tells.
  std::string_view commit;
  std::string_view compiler;  ///< "GNU 12.2.0"
  std::string_view type;      ///< "Release"; empty where none was chosen
  std::string_view flags;     ///< of the compiler, for all files
};

/// May be called from any thread.
const BuildInfo& build_info();

}  // namespace abi1
}  // namespace augur
