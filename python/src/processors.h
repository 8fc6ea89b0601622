#pragma once
#include <nanobind/nanobind.h>

#include <functional>

#include "augur/options.h"

namespace augur::python {

/// Adds a processor that calls Python with the bytes of the ids, and of the row, which it changes.
void add_logits_processor(Request& to, nanobind::object call);

/// What is to be called when a request has ended, by the thread that decodes: it lets go of the request's
/// processors in every copy of it. A processor may know what it has raised, whose traceback knows the
/// request, and Python does not see such a circle.
std::function<void()> end_of_processors(const Request& request);

}  // namespace augur::python
