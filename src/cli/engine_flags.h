#pragma once
#include "augur/engine.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace augur::cli {

// The flags of the public options, under llama.cpp's names where it has them. Each add_* binds flags of
// `command` to the struct it is given, which must live as long as `command`.

/// -m, -hf, -md, -hfd, --spec-vocab, --spec-datastore, -t, --pin, -c, --weights, --law, --kv-type
void add_engine_flags(CLI::App& command, EngineOptions& options);

/// --law
CLI::Option* add_law_flag(CLI::App& command, ArithmeticLaw& law);

/// Those of EngineLimits, which a server has among its own.
void add_engine_limit_flags(CLI::App& command, EngineOptions& options);

/// --temp, --top-k, --top-p, --min-p, penalties, --logit-bias, --seed
void add_sampling_flags(CLI::App& command, SamplingOptions& options);

/// Names the model itself as the draft model where none is named and it has layers of its own that draft, for
/// commands whose plans come later.
void use_own_layers(EngineOptions& options);

/// Loads with a progress line on a terminal.
Engine load_engine(const EngineOptions& options);

}  // namespace augur::cli
