#pragma once
#include <atomic>
#include <filesystem>
#include <functional>
#include <string_view>

#include "hub/hub_model.h"
#include "hub/hub_settings.h"

namespace augur {

/// Who hears of a fetch, each from the thread that fetches; what they throw ends it. Any may be empty.
struct FetchHooks {
  std::function<void(std::string_view what, double fraction)> progress = {};  ///< 0 to 1, of all files
  std::function<void(std::string_view text)> warning = {};
  const std::atomic<bool>* stop = nullptr;  ///< true: HubStopped within a second
};

/// Where a model lies on this machine: its GGUF file, of a split one the first part, or its folder. The hub
/// is asked what it has; what the cache lacks of it is fetched first. `settings.offline`, or a hub that does
/// not answer (with a warning): what the cache has. Content is held against the hash that the hub names. What
/// has come of a file that did not arrive in whole stays, and the next call goes on from there. Several
/// processes may fetch the same model: one does, the others wait. Error naming the model and what is wrong;
/// HubStopped.
std::filesystem::path fetch_model(const HubModel& model, const HubSettings& settings,
                                  const FetchHooks& hooks);

}  // namespace augur
