#include "engine/engine_limits.h"

#include <array>
#include <cmath>

namespace augur {
namespace {

constexpr std::int64_t kMs = 1000;  // of a second
constexpr std::int64_t kMib = std::int64_t{1} << 20;

constexpr std::array kTable = {
    LimitOf<EngineLimits>{"--grammar-seconds", "s", kMs, 1e-3, 1e6,
                          "time of one core to compile a grammar or schema", &EngineLimits::grammar_ms},
    LimitOf<EngineLimits>{"--grammar-memory", "MiB", kMib, 1, kMib, "memory to compile a grammar or schema",
                          &EngineLimits::grammar_bytes},
    LimitOf<EngineLimits>{"--template-steps", "", 1, 1, std::int64_t{1} << 40,
                          "steps of the chat template that write a conversation",
                          &EngineLimits::template_steps},
    LimitOf<EngineLimits>{"--template-memory", "MiB", kMib, 1, kMib,
                          "texts and lists that the chat template makes on the way",
                          &EngineLimits::template_bytes},
};

}  // namespace

EngineLimits::EngineLimits(const EngineOptions& options)
    : grammar_ms(std::llround(options.grammar_budget.seconds * kMs)),
      grammar_bytes(options.grammar_budget.bytes),
      template_steps(options.template_limits.steps),
      template_bytes(options.template_limits.bytes) {}

void EngineLimits::apply_to(EngineOptions& options) const {
  options.grammar_budget = {.seconds = static_cast<double>(grammar_ms) / kMs, .bytes = grammar_bytes};
  options.template_limits = {.steps = template_steps, .bytes = template_bytes};
}

std::span<const LimitOf<EngineLimits>> engine_limit_table() {
  return kTable;
}

}  // namespace augur
