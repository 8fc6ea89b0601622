#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "augur/augur.h"
#include "base/error.h"
#include "c_api/failure.h"
#include "c_api/handles.h"
#include "c_api/structs.h"

using namespace augur::c_api;

int32_t augur_cancel(augur_ticket* ticket) {
  return status([&] { held(ticket)->cancel(); });
}

int32_t augur_ended(const augur_ticket* ticket) {
  return guarded([&] { return int32_t{held(ticket)->ended()}; }, int32_t{-1});
}

augur_result* augur_wait(const augur_ticket* ticket) {
  std::exception_ptr failure;
  augur_result* const given = guarded([&] {
    augur::Result result = held(ticket)->wait();
    if (result.finish_reason == augur::FinishReason::Error) {
      failure = std::make_exception_ptr(augur::Error(
          {result.error_kind.value_or(augur::ErrorKind::Internal), result.refused_field}, result.error));
      if (result.tokens.empty()) std::rethrow_exception(failure);
    }
    return give<augur_result>(std::make_shared<GivenResult>(std::move(result)));
  });
  if (given != nullptr && failure) note(failure);
  return given;
}

int64_t augur_ticket_warnings(const augur_ticket* ticket, char* text, size_t capacity) {
  return number([&] {
    std::string lines;
    for (const std::string& warning : held(ticket)->warnings()) lines += warning + "\n";
    return write_text(lines, text, capacity);
  });
}

void augur_ticket_free(augur_ticket* ticket) {
  free_handle(ticket);
}
