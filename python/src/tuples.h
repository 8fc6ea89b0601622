#pragma once
#include <nanobind/nanobind.h>

#include <cstddef>
#include <span>

namespace augur::python {

/// Numbers as a tuple, which outlives them.
template <class Number>
nanobind::tuple tuple_of(std::span<const Number> values) {
  auto made = nanobind::steal<nanobind::tuple>(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  if (!made.is_valid()) nanobind::raise_python_error();
  for (std::size_t i = 0; i < values.size(); ++i) {
    PyTuple_SetItem(made.ptr(), static_cast<Py_ssize_t>(i), nanobind::cast(values[i]).release().ptr());
  }
  return made;
}

}  // namespace augur::python
