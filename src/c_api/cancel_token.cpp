#include <atomic>
#include <memory>

#include "augur/augur.h"
#include "c_api/failure.h"
#include "c_api/handles.h"

using namespace augur::c_api;

augur_cancel_token* augur_cancel_token_create(void) {
  return guarded([] { return give<augur_cancel_token>(std::make_shared<std::atomic<bool>>(false)); });
}

int32_t augur_cancel_token_cancel(augur_cancel_token* token) {
  return status([&] { held(token)->store(true); });
}

void augur_cancel_token_free(augur_cancel_token* token) {
  free_handle(token);
}
