#include <algorithm>
#include <vector>

#include "augur/augur.h"
#include "c_api/engine_options.h"
#include "c_api/failure.h"
#include "c_api/handles.h"
#include "c_api/request.h"
#include "c_api/structs.h"
#include "engine/engine_access.h"
#include "engine/engine_owner.h"

using namespace augur::c_api;

augur_engine* augur_load(const augur_engine_options* options) {
  return guarded([&] {
    const augur_engine_options all =
        complete(options, augur_engine_options_default(), "augur_engine_options");
    return new augur_engine{augur::Engine(engine_options(all))};
  });
}

int32_t augur_free(augur_engine* engine) {
  return guarded(
      [&] {
        if (engine == nullptr) return int32_t{0};
        // Taken for good: whoever comes meanwhile finds it in use.
        augur::EngineOwner& owner = augur::EngineAccess::owner(engine->engine);
        if (owner.process().here()) owner.take(augur::EngineOwner::Use::Call, "augur_free()");
        delete engine;
        return int32_t{0};
      },
      int32_t{-1});
}

int64_t augur_tokenize(augur_engine* engine, const char* text, int32_t* tokens, size_t capacity) {
  return guarded(
      [&] {
        const std::vector<augur::TokenId> all = checked(engine).tokenize(text_or_empty(text));
        const auto out = array("tokens", tokens, capacity);
        std::copy_n(all.begin(), std::min(out.size(), all.size()), out.begin());
        return static_cast<int64_t>(all.size());
      },
      int64_t{-1});
}

int64_t augur_detokenize(augur_engine* engine, const int32_t* tokens, size_t count, char* text,
                         size_t capacity) {
  return guarded(
      [&] {
        const std::string all = checked(engine).detokenize(array("tokens", tokens, count));
        if (const auto out = array("text", text, capacity); !out.empty()) {
          const size_t length = std::min(out.size() - 1, all.size());
          std::copy_n(all.begin(), length, out.begin());
          out[length] = '\0';
        }
        return static_cast<int64_t>(all.size());
      },
      int64_t{-1});
}

augur_result* augur_generate(augur_engine* engine, const augur_request* request,
                             augur_token_callback on_token, void* user) {
  return guarded([&] {
    augur::Engine& checked_engine = checked(engine);
    const augur_request all = complete(request, augur_request_default(), "augur_request");
    return new augur_result{checked_engine.generate(request_of(all), token_callback(on_token, user))};
  });
}
