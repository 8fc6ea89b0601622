#pragma once
#include <prometheus/metric_family.h>

#include <vector>

namespace augur {

/// Resource use of this process, with the names of Prometheus' own clients (`process_*`). Values that /proc
/// does not have are left out. Thread-safe.
std::vector<prometheus::MetricFamily> process_metrics();

}  // namespace augur
