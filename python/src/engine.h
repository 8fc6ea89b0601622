#pragma once
#include <nanobind/nanobind.h>

namespace augur::python {

/// The engine, and its running requests.
void bind_engine(nanobind::module_& module);

}  // namespace augur::python
