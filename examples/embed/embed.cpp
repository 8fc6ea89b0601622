// Load a model, stream what it writes, stop when the text is long enough:  embed MODEL PROMPT [DRAFT_MODEL]
#include <augur/engine.h>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: embed MODEL PROMPT [DRAFT_MODEL]\ndrafters:");
    for (const augur::SpeculationType& type : augur::speculation_types())
      std::fprintf(stderr, " %s", type.name.c_str());
    std::fprintf(stderr, "\npolicies:");
    for (const augur::SpeculationPolicy& policy : augur::speculation_policies())
      std::fprintf(stderr, " %s", policy.name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  try {
    augur::EngineOptions options;
    options.model = argv[1];
    if (argc > 3) {
      options.draft_model = argv[3];  // what it is, its files say; how much it drafts, measured costs decide
    } else {
      options.speculation = augur::SpeculationPlan::parse("ngram:n-max=6");
    }
    augur::Engine engine(options);

    augur::Request request;
    request.prompt = argv[2];
    std::size_t bytes = 0;
    const augur::Result result = engine.generate(request, [&](const augur::TokenEvent& event) {
      bytes += event.text.size();
      std::fwrite(event.text.data(), 1, event.text.size(), stdout);
      return bytes < 200;  // false stops
    });
    std::printf("\n[%s, %.1f tokens a call]\n", augur::to_string(result.finish_reason).data(),
                result.speculation.mean_accepted_length);
  } catch (const augur::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.kind() == augur::ErrorKind::NotFound ? 2 : 1;
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}
