#include <nlohmann/json.hpp>

#include "files/json_reader.h"
#include "text/tokenizer/from_memory.h"
#include "try_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto content = augur::parse_json(text, "input");
    // One document is both files.
    augur::fuzz::try_tokenizer(*augur::tokenizer_from_json(content, "input", content), data, size);
  } catch (const augur::Error&) {
  }
  return 0;
}
