#pragma once
#include <prometheus/metric_family.h>

#include <vector>

namespace augur {

/// What this process takes of the machine, under the names that Prometheus' own clients have (`process_*`).
/// What /proc does not tell is left out. Thread-safe.
std::vector<prometheus::MetricFamily> process_metrics();

}  // namespace augur
