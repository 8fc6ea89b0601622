#pragma once
#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>
#include <stdexcept>

namespace augur::python {

/// An object of Python's that C++ holds. Copies and destruction take place on any thread and never wait for
/// the interpreter's lock: without it, the object is kept until a thread has it, in drop_left_objects().
class Held {
 public:
  /// With the interpreter's lock.
  explicit Held(nanobind::object object);
  nanobind::handle get() const { return object_.get(); }

 private:
  std::shared_ptr<PyObject> object_;
};

/// Lets go of what was held. With the interpreter's lock.
void drop_left_objects();

/// What Python code raised in a callback, on its way through the engine: augur.raised keeps the exception
/// until it is out again.
class PythonRaised : public std::runtime_error {
 public:
  /// With the interpreter's lock.
  explicit PythonRaised(const nanobind::python_error& error);
  int number() const { return number_; }

 private:
  PythonRaised(int number, const nanobind::python_error& error);
  int number_;
};

/// Raises it as it was where a call of Python's ends with it.
void bind_raised();

/// Calls Python from whichever thread decodes, with the interpreter's lock; what it raises becomes
/// PythonRaised.
template <class Call>
auto in_python(Call call) {
  const nanobind::gil_scoped_acquire gil;
  drop_left_objects();
  try {
    return call();
  } catch (const nanobind::python_error& error) {
    throw PythonRaised(error);
  }
}

/// Bytes that Python may see while this lives, and no longer. With the interpreter's lock.
class LentBytes {
 public:
  LentBytes(const void* data, std::size_t bytes);  ///< to be read
  LentBytes(void* data, std::size_t bytes);        ///< to be written, too
  ~LentBytes();
  LentBytes(const LentBytes&) = delete;
  LentBytes& operator=(const LentBytes&) = delete;
  const nanobind::object& view() const { return view_; }

 private:
  nanobind::object view_;
};

}  // namespace augur::python
