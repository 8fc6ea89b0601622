#pragma once
#include <atomic>
#include <exception>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "augur/augur.h"
#include "augur/engine.h"
#include "augur/model_description.h"
#include "augur/session.h"
#include "c_api/failure.h"
#include "c_api/given_result.h"

namespace augur::c_api {

/// What callers have handles of. A handle is a number that is given once in the life of the process: whoever
/// uses one that was freed, or something else, is told so, and nothing is read where it points. Thread-safe,
/// also in a child of fork.
///
/// `type`: the type's name, for messages.
void* give_untyped(std::string_view type, std::shared_ptr<void> object);
/// Null where there is no such object of this type.
std::shared_ptr<void> find_untyped(std::string_view type, const void* handle);
/// The same, and from now on the handle is nobody's.
std::shared_ptr<void> take_untyped(std::string_view type, const void* handle);
[[noreturn]] void throw_for_handle(std::string_view type, const void* handle);

/// The object that stands behind a type of the C interface, and the type's name.
template <class Handle>
struct Behind;
template <>
struct Behind<augur_engine> {
  using Object = Engine;
  static constexpr std::string_view kName = "engine";
};
template <>
struct Behind<augur_result> {
  using Object = const GivenResult;
  static constexpr std::string_view kName = "result";
};
template <>
struct Behind<augur_costs> {
  using Object = const MeasuredCosts;
  static constexpr std::string_view kName = "costs";
};
template <>
struct Behind<augur_model_description> {
  using Object = const ModelDescription;
  static constexpr std::string_view kName = "model description";
};
template <>
struct Behind<augur_session> {
  using Object = Session;
  static constexpr std::string_view kName = "session";
};
template <>
struct Behind<augur_ticket> {
  using Object = Ticket;
  static constexpr std::string_view kName = "ticket";
};
template <>
struct Behind<augur_cancel_token> {
  using Object = std::atomic<bool>;
  static constexpr std::string_view kName = "cancel token";
};

template <class Handle>
using Object = typename Behind<Handle>::Object;

template <class Handle>
Handle* give(std::shared_ptr<Object<Handle>> object) {
  auto untyped = std::const_pointer_cast<std::remove_const_t<Object<Handle>>>(std::move(object));
  return static_cast<Handle*>(give_untyped(Behind<Handle>::kName, std::move(untyped)));
}

/// Null where the handle is nobody's.
template <class Handle>
std::shared_ptr<Object<Handle>> find(const Handle* handle) {
  return std::static_pointer_cast<Object<Handle>>(find_untyped(Behind<Handle>::kName, handle));
}

/// The object, which stays as long as the pointer. Error of kind Misuse where the handle is nobody's.
template <class Handle>
std::shared_ptr<Object<Handle>> held(const Handle* handle) {
  auto object = find(handle);
  if (object == nullptr) throw_for_handle(Behind<Handle>::kName, handle);
  return object;
}

/// The same; from now on the handle is nobody's.
template <class Handle>
std::shared_ptr<Object<Handle>> take(const Handle* handle) {
  auto object = std::static_pointer_cast<Object<Handle>>(take_untyped(Behind<Handle>::kName, handle));
  if (object == nullptr) throw_for_handle(Behind<Handle>::kName, handle);
  return object;
}

/// The same for the *_free functions. Leaves the thread's last failure as it is, unless this is one; NULL is
/// none.
template <class Handle>
void free_handle(const Handle* handle) noexcept {
  if (handle == nullptr) return;
  try {
    take(handle);
  } catch (...) {
    note(std::current_exception());
  }
}

}  // namespace augur::c_api
