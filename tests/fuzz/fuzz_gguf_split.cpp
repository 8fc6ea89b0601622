#include "attempt.h"
#include "files/gguf/model.h"
#include "read_all.h"

/// The input is parts one behind the other, each with its length (16 bits) before it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using augur::fuzz::attempt;
  attempt([&] {
    auto rest = std::as_bytes(std::span(data, size));
    std::vector<augur::GgufFile> parts;
    while (rest.size() >= 2) {
      const auto length = std::to_integer<std::size_t>(rest[0]) | std::to_integer<std::size_t>(rest[1]) << 8;
      rest = rest.subspan(2);
      const auto part = rest.first(std::min(length, rest.size()));
      rest = rest.subspan(part.size());
      parts.push_back(augur::GgufFile::parse(part, "part"));
    }
    const auto file = std::make_shared<const augur::GgufFile>(augur::GgufFile::join(std::move(parts)));
    for (const auto& info : file->tensor_infos()) {
      attempt([&] { augur::fuzz::read_some_rows(file->tensor(info)); });
    }
    attempt([&] {
      const auto weights = augur::open_gguf_weights(file);
      for (const auto& [name, tensor] : weights->tensors()) augur::fuzz::read_some_rows(tensor);
    });
  });
  return 0;
}
