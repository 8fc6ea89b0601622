#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "augur/engine.h"
#include "decode/decoder.h"
#include "decode/sequence.h"
#include "engine/engine_owner.h"
#include "engine/generation.h"
#include "model/kv_cache.h"
#include "model/model.h"

namespace augur {

/// What the project's own tools may do with an engine beyond its public interface. This header is not
/// installed.
struct EngineAccess {
  /// Makes the device that the engine's models run on; `host` is the engine's own backend. Null: the host
  /// itself.
  using MakeDevice = std::function<std::unique_ptr<Device>(Backend& host)>;
  static Engine on_device(const EngineOptions& options, const MakeDevice& make_device);

  /// An engine that has its own drafters (draft_model, datastore, speculation) but shares the target of
  /// `engine`. `options.model` and the options on how to load it are ignored. The two engines are for one
  /// thread at a time together.
  static Engine sibling(const Engine& engine, const EngineOptions& options);

  /// Is called with a sequence's options before the sequence is made, so that a recorder can set its
  /// callbacks.
  using Prepare = std::function<void(SequenceOptions&)>;
  static Result generate(Engine& engine, const Request& request, const TokenCallback& on_token,
                         const Prepare& prepare);

  /// Prepares a request that the engine's decoder then decodes, in a batch of up to `parallel`. `grammar`:
  /// the request's compiled grammar; null: it has none, or it is compiled here. `tenant`:
  /// SubmitOptions::tenant. Throws Error if the request is invalid.
  static std::unique_ptr<Generation> start(Engine& engine, const Request& request,
                                           const TokenCallback& on_token, int parallel,
                                           const std::shared_ptr<const CompiledGrammar>& grammar = nullptr,
                                           const std::string& tenant = {});
  /// The same engine for one more holder: what is loaded is freed with the last.
  static Engine share(const Engine& engine);
  static EngineOwner& owner(const Engine& engine);
  static Drafters& drafters(Engine& engine);
  /// Any thread may use the compiler while the engine runs.
  static GrammarCompiler& grammars(Engine& engine);
  static Decoder& decoder(Engine& engine);
  /// Measures the costs of the target and of every loaded drafter as `auto` uses them, where they are not
  /// known yet; with `anew`, also where they are.
  static void measure_costs(Engine& engine, bool anew = false);

  /// The costs that the engine's decisions go by now: the target's (an empty curve if it is not known yet)
  /// and those of the drafters that were measured. Measures nothing.
  static MeasuredCosts known_costs(const Engine& engine);

  static Model& model(Engine& engine);

  /// A drafter that keeps rows of a text in a cache of its own. Valid as long as the engine.
  struct RowKeeper {
    std::string identity;               ///< identifies its type and files
    const void* group = nullptr;        ///< Drafter::group()
    KvCache cache;                      ///< an empty one
    std::shared_ptr<RowPool> features;  ///< SequenceRows::pool()
  };
  /// Those of the loaded drafters.
  static std::vector<RowKeeper> row_keepers(Engine& engine);
};

}  // namespace augur
