#pragma once
#include <string>

namespace augur {

struct Served;

/// What has been done for each key, in Prometheus' text form, with its name as label `key`: of all keys for
/// who sees all, otherwise of the one that asks. Empty without keys.
std::string key_metrics(const Served& served);

}  // namespace augur
