#include "files/safetensors.h"
#include "read_all.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    for (const auto& tensor : augur::parse_safetensors(std::as_bytes(std::span(data, size)), "input")) {
      augur::fuzz::read_some_rows(tensor);
    }
  } catch (const augur::Error&) {
  }
  return 0;
}
