#pragma once
#include <nanobind/nanobind.h>

namespace augur::python {

/// What models are and what engines of them would take, without one being loaded.
void bind_descriptions(nanobind::module_& module);

}  // namespace augur::python
