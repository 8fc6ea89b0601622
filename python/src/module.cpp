// The extension augur._core: the C++ interface of include/augur, nearly as it is. What Python's users see is
// made of it in python/augur.
#include <nanobind/nanobind.h>

#include "descriptions.h"
#include "engine.h"
#include "errors.h"
#include "options.h"
#include "python_calls.h"
#include "values.h"
#include "without_gil.h"

NB_MODULE(_core, module) {
  using namespace augur::python;
  module.doc() = "The C++ interface of Augur, for the package augur; no interface of its own.";
  bind_errors(module);
  bind_raised();
  bind_values(module);
  bind_options(module);
  bind_engine(module);
  bind_descriptions(module);
  module.def(
      "end_threads",
      [](double seconds) {
        end_scopes_without_gil(seconds);
        drop_left_objects();
      },
      nanobind::arg("seconds"),
      "Refuses further calls that compute, and waits for those that run; for the interpreter's end.");
}
