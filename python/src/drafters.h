#pragma once
#include <nanobind/nanobind.h>

#include "augur/options.h"

namespace augur::python {

/// Drafters that are written in Python: EngineOptions.add_drafter takes the class, wrapped by augur.drafters.
void bind_drafters(nanobind::module_& module, nanobind::class_<EngineOptions>& options);

}  // namespace augur::python
