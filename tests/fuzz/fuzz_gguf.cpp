#include <nlohmann/json.hpp>

#include "attempt.h"
#include "files/gguf/model.h"
#include "read_all.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Each reader must be safe whatever the others say about the file.
  using augur::fuzz::attempt;
  attempt([&] {
    const auto bytes = std::as_bytes(std::span(data, size));
    const auto file = std::make_shared<const augur::GgufFile>(augur::GgufFile::parse(bytes, "input"));
    attempt([&] { static_cast<void>(augur::gguf_config(*file).dump()); });
    attempt([&] { static_cast<void>(augur::gguf_generation_config(*file).dump()); });
    attempt([&] { augur::gguf_vocabulary(*file); });
    attempt([&] { file->find_string("tokenizer.chat_template"); });
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
