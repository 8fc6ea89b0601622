#include "c_api/session_options.h"

#include "c_api/structs.h"

namespace augur::c_api {

SessionOptions options_of(const augur_session_options* given) {
  const augur_session_options defaults = augur_session_options_default();
  const augur_session_options from =
      given == nullptr ? defaults : complete(given, defaults, "augur_session_options");
  SessionOptions to;
  to.parallel = from.parallel;
  to.queue = from.queue;
  to.memory = from.memory;
  to.cache_bytes = from.cache_bytes;
  to.compilers = from.compilers;
  if (from.draft_nodes != 0) to.drafts.nodes = from.draft_nodes;
  if (from.draft_depth != 0) to.drafts.depth = from.draft_depth;
  if (from.draft_topk != 0) to.drafts.topk = from.draft_topk;
  to.prompt_share = from.prompt_share;
  to.memory_share = from.memory_share;
  to.priorities_across_clients = from.priorities_across_clients != 0;
  return to;
}

}  // namespace augur::c_api

using namespace augur::c_api;

void augur_session_options_init(augur_session_options* options, size_t size) {
  const augur::SessionOptions defaults;
  write_defaults(augur_session_options{.size = 0,
                                       .parallel = defaults.parallel,
                                       .queue = defaults.queue,
                                       .memory = defaults.memory,
                                       .cache_bytes = defaults.cache_bytes,
                                       .compilers = defaults.compilers,
                                       .draft_nodes = 0,
                                       .draft_depth = 0,
                                       .draft_topk = 0,
                                       .prompt_share = defaults.prompt_share,
                                       .memory_share = defaults.memory_share,
                                       .priorities_across_clients = defaults.priorities_across_clients},
                 options, size);
}
