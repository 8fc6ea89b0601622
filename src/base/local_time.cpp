#include "base/local_time.h"

#include <array>

namespace augur {

std::string local_time(std::time_t time, const std::string& format) {
  std::tm local{};
  localtime_r(&time, &local);
  std::array<char, 1024> buffer;
  return {buffer.data(), std::strftime(buffer.data(), buffer.size(), format.c_str(), &local)};
}

}  // namespace augur
