#include "c_api/handles.h"

#include <pthread.h>

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/error.h"

namespace augur::c_api {
namespace {

struct Given {
  std::string_view type;
  std::shared_ptr<void> object;
};

struct Table {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, Given> given;
  std::uintptr_t last = 0;

  /// A child must not inherit the mutex from a thread that it does not have.
  Table() {
    ::pthread_atfork([] { table().mutex.lock(); }, [] { table().mutex.unlock(); },
                     [] { table().mutex.unlock(); });
  }
  /// Never destroyed: what callers have not freed at the end of the process is left as it is.
  static Table& table() {
    static Table* const only = new Table;
    return *only;
  }
};

std::uintptr_t number_of(const void* handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

}  // namespace

void* give_untyped(std::string_view type, std::shared_ptr<void> object) {
  constexpr std::uintptr_t kStep = 16;  // as aligned as what is allocated
  Table& table = Table::table();
  const std::lock_guard lock(table.mutex);
  const std::uintptr_t number = table.last + kStep;
  table.given.emplace(number, Given{type, std::move(object)});
  table.last = number;
  return reinterpret_cast<void*>(number);  // NOLINT(performance-no-int-to-ptr): nothing is there
}

std::shared_ptr<void> find_untyped(std::string_view type, const void* handle) {
  Table& table = Table::table();
  const std::lock_guard lock(table.mutex);
  const auto found = table.given.find(number_of(handle));
  return found == table.given.end() || found->second.type != type ? nullptr : found->second.object;
}

std::shared_ptr<void> take_untyped(std::string_view type, const void* handle) {
  Table& table = Table::table();
  const std::lock_guard lock(table.mutex);
  const auto found = table.given.find(number_of(handle));
  if (found == table.given.end() || found->second.type != type) return nullptr;
  std::shared_ptr<void> object = std::move(found->second.object);
  table.given.erase(found);
  return object;
}

void throw_for_handle(std::string_view type, const void* handle) {
  if (handle == nullptr) throw Error(ErrorKind::Misuse, "the {} is NULL", type);
  throw Error(ErrorKind::Misuse, "the {} does not exist: it was freed, or the handle is of something else",
              type);
}

}  // namespace augur::c_api
