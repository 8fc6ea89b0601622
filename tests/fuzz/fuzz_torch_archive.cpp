// PyTorch archives: input that begins as a zip archive is read as one; any other is taken for the pickle of
// an archive with one 64-byte storage, which lets mutations reach the tensors. Seeds: tests/golden/torch.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/error.h"
#include "files/torch/zip_directory.h"
#include "files/torch_archive.h"
#include "read_all.h"

namespace {

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
}

void add_entry(std::string& out, std::string& directory, const std::string& name,
               std::span<const char> content) {
  const std::size_t offset = out.size();
  put(out, 0x04034b50, 4), put(out, 0, 22), put(out, name.size(), 2), put(out, 0, 2);
  out += name;
  out.append(content.data(), content.size());
  put(directory, 0x02014b50, 4), put(directory, 0, 16);
  put(directory, content.size(), 4), put(directory, content.size(), 4), put(directory, name.size(), 2);
  put(directory, 0, 12), put(directory, offset, 4);
  directory += name;
}

std::string wrap(std::span<const char> pickle) {
  std::string out, directory;
  add_entry(out, directory, "a/data.pkl", pickle);
  add_entry(out, directory, "a/data/0", std::string(64, '\1'));
  const std::size_t start = out.size();
  out += directory;
  put(out, 0x06054b50, 4), put(out, 0, 4), put(out, 2, 2), put(out, 2, 2);
  put(out, directory.size(), 4), put(out, start, 4), put(out, 0, 2);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span input{reinterpret_cast<const char*>(data), size};
  const bool is_zip = augur::looks_like_zip(std::as_bytes(input));
  const std::string file = is_zip ? std::string(input.begin(), input.end()) : wrap(input);
  try {
    const auto store = augur::parse_torch_archive(std::as_bytes(std::span(file)), "fuzz.pt");
    for (const auto& [name, tensor] : store->tensors()) augur::fuzz::read_some_rows(tensor);
  } catch (const augur::Error&) {
  }
  return 0;
}
