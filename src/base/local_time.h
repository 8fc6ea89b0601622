#pragma once
#include <ctime>
#include <string>

namespace augur {

/// `time` as the machine's zone has it, in strftime's notation. Empty where the result is, or is longer than
/// 1,023 bytes.
std::string local_time(std::time_t time, const std::string& format);

}  // namespace augur
