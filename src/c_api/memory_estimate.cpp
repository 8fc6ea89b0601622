#include "augur/memory_estimate.h"

#include "augur/augur.h"
#include "c_api/engine_options.h"
#include "c_api/failure.h"
#include "c_api/session_options.h"
#include "c_api/structs.h"

using namespace augur::c_api;

namespace {

void answer_estimate(const augur::MemoryEstimate& from, augur_memory_estimate* estimate) {
  answer({.size = 0,
          .mapped = from.mapped,
          .weights = from.weights,
          .draft_weights = from.draft_weights,
          .workspace = from.workspace,
          .token = from.token,
          .text = from.text,
          .texts = from.texts,
          .kept = from.kept,
          .loaded = from.loaded(),
          .most = from.most()},
         estimate, "augur_memory_estimate");
}

}  // namespace

int32_t augur_estimate_memory(const augur_engine_options* options, int32_t parallel,
                              augur_memory_estimate* estimate) {
  return status(
      [&] { answer_estimate(augur::estimate_memory(loading_of(options).options, parallel), estimate); });
}

int32_t augur_estimate_session_memory(const augur_engine_options* options,
                                      const augur_session_options* session, augur_memory_estimate* estimate) {
  return status([&] {
    answer_estimate(augur::estimate_memory(loading_of(options).options, options_of(session)), estimate);
  });
}
