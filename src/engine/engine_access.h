#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "augur/engine.h"
#include "decode/decoder.h"
#include "decode/sequence.h"
#include "engine/generation.h"
#include "model/kv_cache.h"
#include "model/model.h"

namespace augur {

/// What the project's own tools may do with an engine beyond its public interface. Not installed.
struct EngineAccess {
  /// An engine whose models run on the device that `make_device` makes beside the engine's host; null: the
  /// host itself.
  using MakeDevice = std::function<std::unique_ptr<Device>(Backend& host)>;
  static Engine on_device(const EngineOptions& options, const MakeDevice& make_device);

  /// An engine with drafters of its own (draft_model, datastore, speculation) on the target of `engine`,
  /// which both share from then on. `options.model` and what says how to load it are not looked at. One
  /// thread at a time over both.
  static Engine sibling(const Engine& engine, const EngineOptions& options);

  /// Sees a sequence's options before it is made: recorders attach here.
  using Prepare = std::function<void(SequenceOptions&)>;
  static Result generate(Engine& engine, const Request& request, const TokenCallback& on_token,
                         const Prepare& prepare);

  /// A request that is about to be decoded by the engine's decoder, `parallel` of them at once. `grammar`:
  /// the request's; null: it has none, or it is compiled now. `tenant`: SubmitOptions::tenant. Error when it
  /// is not as it must be.
  static std::unique_ptr<Generation> start(Engine& engine, const Request& request,
                                           const TokenCallback& on_token, int parallel,
                                           const std::shared_ptr<const CompiledGrammar>& grammar = nullptr,
                                           const std::string& tenant = {});
  static Drafters& drafters(Engine& engine);
  /// Of which any thread may ask for grammars meanwhile.
  static GrammarCompiler& grammars(Engine& engine);
  static Decoder& decoder(Engine& engine);
  /// Measures what is not known yet of the target and of every drafter that is loaded, as `auto` uses them;
  /// with `anew` what is known, too.
  static void measure_costs(Engine& engine, bool anew = false);

  /// What the engine's decisions go by now: of the target (an empty curve before it is known), and of the
  /// drafters that were measured. Measures nothing.
  static MeasuredCosts known_costs(const Engine& engine);

  static Model& model(Engine& engine);

  /// A drafter that keeps rows of a text of its own, as long as the engine lives.
  struct RowKeeper {
    std::string identity;               ///< tells its files and type from others
    const void* group = nullptr;        ///< Drafter::group()
    KvCache cache;                      ///< an empty one
    std::shared_ptr<RowPool> features;  ///< SequenceRows::pool()
  };
  /// Of those that are loaded.
  static std::vector<RowKeeper> row_keepers(Engine& engine);
};

}  // namespace augur
