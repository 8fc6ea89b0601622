#pragma once
#include <nanobind/nanobind.h>

#include <string_view>

namespace augur::python {

/// A text of the engine's as Python's; bytes that are no UTF-8, which a model can write, become U+FFFD.
inline nanobind::str text(std::string_view bytes) {
  PyObject* made = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace");
  if (made == nullptr) nanobind::raise_python_error();
  return nanobind::steal<nanobind::str>(made);
}

}  // namespace augur::python
