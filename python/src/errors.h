#pragma once
#include <nanobind/nanobind.h>

namespace augur::python {

/// Makes Error an exception of augur.errors, of the class for its kind.
void bind_errors(nanobind::module_& module);

}  // namespace augur::python
