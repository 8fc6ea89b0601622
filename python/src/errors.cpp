#include "errors.h"

#include <exception>

#include "augur/error.h"
#include "text.h"

namespace nb = nanobind;

namespace augur::python {
namespace {

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    const nb::object made =
        nb::module_::import_("augur.errors")
            .attr("error_of")(static_cast<int>(error.kind()), text(error.what()), text(error.field()));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  }
}

}  // namespace

void bind_errors(nb::module_& module) {
  nb::enum_<ErrorKind>(module, "ErrorKind", nb::is_arithmetic(),
                       "What is wrong, for programs. Later versions may have further kinds.")
      .value("NOT_FOUND", ErrorKind::NotFound,
             "A file, a model or a part of one is not there, or cannot be opened.")
      .value("MALFORMED", ErrorKind::Malformed, "A file or a text is not what its format says.")
      .value("UNSUPPORTED", ErrorKind::Unsupported,
             "Sound, but this version, build or processor does not do it.")
      .value("OUT_OF_MEMORY", ErrorKind::OutOfMemory, "The system or a limit refuses memory or threads.")
      .value("CONTEXT_FULL", ErrorKind::ContextFull, "A text is longer than the model's context.")
      .value("REFUSED_FIELD", ErrorKind::RefusedField, "An option or a field cannot have this value.")
      .value("CANCELLED", ErrorKind::Cancelled, "It was given up, or its time was over.")
      .value("QUEUE_FULL", ErrorKind::QueueFull, "As many requests wait as may.")
      .value("MISUSE", ErrorKind::Misuse, "A rule of threads, forks or closed engines is broken.")
      .value("INTERNAL", ErrorKind::Internal, "Anything else.");
  nb::register_exception_translator(translate);
}

}  // namespace augur::python
