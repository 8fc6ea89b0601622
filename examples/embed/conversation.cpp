// Continue a conversation after a restart without reading it again:  conversation MODEL STATE PROMPT
#include <augur/session.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace {

/// Waits for what the session does with a text's file. Error if that failed.
template <class Begin>
augur::TextFile done(const Begin& begin) {
  const auto promise = std::make_shared<std::promise<augur::TextFile>>();
  begin([promise](const augur::TextFile& file) { promise->set_value(file); });  // on a thread of the session
  augur::TextFile file = promise->get_future().get();
  if (!file.error.empty()) throw augur::Error(file.error);
  return file;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "usage: conversation MODEL STATE PROMPT\n"), 2;
  const std::string state = argv[2];
  try {
    augur::EngineOptions options;
    options.model = argv[1];
    augur::Engine engine(options);
    augur::Session session(engine);
    if (std::filesystem::exists(state))
      done([&](auto tell) { session.load_text(state, tell); });  // an error if it is another model's

    augur::Request request;
    request.prompt = argv[3];
    request.max_tokens = 24;
    const augur::Result result = session.submit(request).wait();
    if (!result.error.empty()) throw augur::Error(result.error);

    std::vector<augur::TokenId> text = engine.prompt_tokens(request);
    text.insert(text.end(), result.tokens.begin(), result.tokens.end());
    const augur::TextFile saved = done([&](auto tell) { session.save_text(text, state, tell); });
    std::printf("%s\n[%lld of %lld tokens of the prompt were kept; %lld are now]\n", result.text.c_str(),
                static_cast<long long>(result.cached_tokens), static_cast<long long>(result.prompt_tokens),
                static_cast<long long>(saved.tokens));
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}
