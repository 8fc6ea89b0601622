#pragma once
#include <nanobind/nanobind.h>

namespace augur::python {

/// What callers fill in: the options of engines and sessions, and requests. Every field has the library's
/// default; enumerations are given by their words.
void bind_options(nanobind::module_& module);

}  // namespace augur::python
