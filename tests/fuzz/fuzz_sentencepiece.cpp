#include <nlohmann/json.hpp>

#include "text/tokenizer/from_memory.h"
#include "try_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view content(reinterpret_cast<const char*>(data), size);
    augur::fuzz::try_tokenizer(*augur::tokenizer_from_sentencepiece(content, "input", nullptr), data, size);
  } catch (const augur::Error&) {
  }
  return 0;
}
