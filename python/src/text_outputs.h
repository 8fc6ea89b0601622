#pragma once
#include <nanobind/nanobind.h>

#include "shared_engine.h"

namespace augur::python {

/// What the model makes of given texts, as NumPy's arrays; NumPy is loaded by the first of them.
void bind_text_outputs(nanobind::module_& module, nanobind::class_<SharedEngine>& engine);

}  // namespace augur::python
