#pragma once
#include <nanobind/nanobind.h>

namespace augur::python {

/// What the engine gives: results, log-probabilities, statistics, rounds, information, costs. Read-only.
void bind_values(nanobind::module_& module);

}  // namespace augur::python
