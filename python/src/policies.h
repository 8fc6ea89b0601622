#pragma once
#include <nanobind/nanobind.h>

#include "augur/options.h"

namespace augur::python {

/// Policies that are written in Python: EngineOptions.add_policy takes the class, wrapped by augur.policies.
void bind_policies(nanobind::module_& module, nanobind::class_<EngineOptions>& options);

}  // namespace augur::python
