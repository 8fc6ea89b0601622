#include <span>

#include "files/gguf/model.h"
#include "text/tokenizer/loaders.h"
#include "try_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto file = augur::GgufFile::parse(std::as_bytes(std::span(data, size)), "input");
    if (const auto vocabulary = augur::gguf_vocabulary(file))
      augur::fuzz::try_tokenizer(*augur::load_gguf_tokenizer(*vocabulary), data, size);
  } catch (const augur::Error&) {
  }
  return 0;
}
