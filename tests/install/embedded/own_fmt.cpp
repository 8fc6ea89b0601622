// A program that has a function of libfmt itself, which the dynamic linker finds before libfmt's:  own_fmt
// MODEL
#include <augur/engine.h>
#include <augur/version.h>

#include <cstdio>
#include <cstdlib>
#include <string>

static_assert(AUGUR_VERSION ==
              AUGUR_VERSION_MAJOR * 1000000 + AUGUR_VERSION_MINOR * 1000 + AUGUR_VERSION_PATCH);

// Has the name of fmt::v9::vformat(), which fmt::format() of this libfmt calls.
extern "C" void own_vformat() __asm__(
    "_ZN3fmt2v97vformatB5cxx11ENS0_17basic_string_viewIcEENS0_17basic_format_argsINS0_20basic_format_"
    "contextINS0_"
    "8appenderEcEEEE");
void own_vformat() {
  std::fprintf(stderr, "the library has called the program's libfmt\n");
  std::_Exit(3);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  augur::EngineOptions options;
  options.threads = 1;
  try {
    options.model = "no_such_model";
    augur::Engine engine(options);
  } catch (const augur::Error& error) {
    std::printf("%s\n", error.what());  // which the library has formatted
  }
  options.model = argv[1];
  augur::Engine engine(options);
  augur::Request request;
  request.prompt = "Once upon a time";
  request.max_tokens = 16;
  std::printf("%s\n", engine.generate(request).text.c_str());
}
