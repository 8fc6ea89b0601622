#include "python_calls.h"

#include <exception>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace augur::python {
namespace {

struct Left {
  std::mutex mutex;
  std::vector<PyObject*> objects;
};

/// Never destroyed: engines' threads may still let go of objects when the process ends.
Left& left() {
  static Left& all = *new Left;
  return all;
}

void let_go(PyObject* object) {
  const std::lock_guard lock(left().mutex);
  left().objects.push_back(object);
}

std::string said(const nb::python_error& error) {
  try {
    return std::string(nb::str(error.type().attr("__name__")).c_str()) + ": " +
           nb::str(error.value()).c_str();
  } catch (const nb::python_error&) {
    return "an exception without a text";
  }
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const PythonRaised& raised) {
    const nb::object error =
        nb::module_::import_("augur.raised").attr("take")(raised.number(), raised.what());
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  }
}

}  // namespace

Held::Held(nb::object object) : object_(object.release().ptr(), &let_go) {}

void drop_left_objects() {
  std::vector<PyObject*> objects;
  {
    const std::lock_guard lock(left().mutex);
    objects.swap(left().objects);
  }
  for (PyObject* object : objects) Py_DECREF(object);  // may run Python's code, which may let go of more
}

PythonRaised::PythonRaised(const nb::python_error& error)
    : PythonRaised(nb::cast<int>(nb::module_::import_("augur.raised").attr("keep")(error.value())), error) {}

PythonRaised::PythonRaised(int number, const nb::python_error& error)
    : std::runtime_error("Python's exception " + std::to_string(number) + ": " + said(error)),
      number_(number) {}

void bind_raised() {
  nb::register_exception_translator(translate);
}

LentBytes::LentBytes(const void* data, std::size_t bytes)
    : view_(nb::steal(PyMemoryView_FromMemory(static_cast<char*>(const_cast<void*>(data)),
                                              static_cast<Py_ssize_t>(bytes), PyBUF_READ))) {}

LentBytes::LentBytes(void* data, std::size_t bytes)
    : view_(nb::steal(
          PyMemoryView_FromMemory(static_cast<char*>(data), static_cast<Py_ssize_t>(bytes), PyBUF_WRITE))) {}

LentBytes::~LentBytes() {
  const nb::error_scope raised;  // what the callback has raised stays
  try {
    view_.attr("release")();
  } catch (const nb::python_error&) {  // augur's own code keeps no part of it
  }
}

}  // namespace augur::python
