// Answer several prompts at once, as a server would:  together MODEL PROMPT...
#include <augur/session.h>

#include <cstdio>
#include <exception>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: together MODEL PROMPT...\n"), 2;
  try {
    augur::EngineOptions options;
    options.model = argv[1];
    options.speculation = augur::SpeculationPlan::parse("ngram");
    augur::Engine engine(options);
    augur::Session session(engine, {.parallel = 8});

    std::vector<augur::Ticket> tickets;
    for (int i = 2; i < argc; ++i) {
      augur::Request request;
      request.prompt = argv[i];
      request.max_tokens = 40;
      tickets.push_back(session.submit(request));  // from any thread, at any time
    }
    for (std::size_t i = 0; i < tickets.size(); ++i) {
      const augur::Result result = tickets[i].wait();
      std::printf("%zu: %s\n", i + 1, (result.error.empty() ? result.text : result.error).c_str());
    }
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}
