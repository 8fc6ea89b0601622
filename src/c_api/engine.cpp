#include <memory>
#include <string>
#include <utility>
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
    const Loading loading = loading_of(options);
    auto engine = std::make_shared<augur::Engine>(loading.options);
    augur_engine* const given = give<augur_engine>(std::move(engine));
    if (loading.release != nullptr) loading.release->due();
    return given;
  });
}

int32_t augur_free(augur_engine* engine) {
  return status([&] {
    if (engine == nullptr) return;
    const auto held_engine = held(engine);
    // Taken for good: whoever comes meanwhile finds it in use.
    augur::EngineOwner& owner = augur::EngineAccess::owner(*held_engine);
    if (owner.process().here()) owner.take(augur::EngineOwner::Use::Call, "augur_free()");
    take(engine);
  });
}

augur_result* augur_generate(augur_engine* engine, const augur_request* request,
                             augur_token_callback on_token, void* user) {
  return guarded([&] {
    const auto used = held(engine);
    Asked asked = asked_by(request);
    const augur::TokenCallback callback = token_callback(on_token, user, std::move(asked.on_event));
    return give<augur_result>(std::make_shared<GivenResult>(used->generate(asked.request, callback)));
  });
}

int32_t augur_generate_many(augur_engine* engine, const augur_request* const* requests, size_t count,
                            int32_t parallel, augur_result_callback on_result, void* user) {
  return status([&] {
    const auto used = held(engine);
    if (on_result == nullptr) throw augur::Error(augur::ErrorKind::Misuse, "on_result is NULL");
    std::vector<Asked> asked;
    for (const augur_request* request : array("requests", requests, count))
      asked.push_back(asked_by(request));
    std::vector<augur::Request> plain;
    for (Asked& one : asked) plain.push_back(std::move(one.request));
    used->generate_many(
        plain, parallel,
        [&](std::size_t index, augur::Result result) {
          on_result(index, give<augur_result>(std::make_shared<GivenResult>(std::move(result))), user);
        },
        [&](std::size_t index, const augur::TokenEvent& event) {
          const augur::TokenCallback& on_event = asked[index].on_event;
          return !on_event || on_event(event);
        });
  });
}

int32_t augur_engine_forget(augur_engine* engine) {
  return status([&] { held(engine)->forget(); });
}
