// A drafter, a policy and a logits processor of one's own:  custom MODEL PROMPT
#include <augur/engine.h>

#include <cstdio>
#include <exception>
#include <limits>
#include <memory>

#include "bigram_drafter.h"
#include "eagle2_policy.h"

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: custom MODEL PROMPT\n"), 2;
  try {
    augur::EngineOptions options;
    options.model = argv[1];
    options.custom_drafters.push_back(
        {.name = "bigram", .make = [](augur::DrafterSetup&) { return std::make_unique<BigramDrafter>(); }});
    options.custom_policies.push_back({.name = "tree", .make = [](const augur::PolicySetup&) {
                                         return std::make_unique<Eagle2Tree>(Eagle2Tree::Shape());
                                       }});
    augur::Engine engine(options);

    augur::Request request;
    request.prompt = argv[2];
    request.max_tokens = 100;
    request.logits_processors.push_back([](std::span<const augur::TokenId> tokens, std::span<float> logits) {
      // No token twice in a row.
      logits[static_cast<std::size_t>(tokens.back())] = -std::numeric_limits<float>::infinity();
    });
    const augur::Result plain = engine.generate(request);
    request.speculation = augur::SpeculationPlan::parse("@bigram:policy=@tree");
    const augur::Result result = engine.generate(request);
    std::printf("%s\n[%s; %s the text without drafts]\n", result.text.c_str(),
                result.speculation.accepted_tokens > 0 ? "drafts were accepted" : "no draft was accepted",
                result.tokens == plain.tokens ? "it is" : "it is not");
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}
