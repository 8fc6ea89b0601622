#include "attempt.h"
#include "hub/choose_files.h"
#include "hub/hub_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using augur::fuzz::attempt;
  attempt([&] {
    const auto list = augur::parse_hub_list({reinterpret_cast<const char*>(data), size}, "input");
    std::vector<std::string> paths;
    for (const augur::HubFile& file : list.files) {
      // What reaches the disk and a URL.
      if (("/" + file.path + "/").find("/../") != std::string::npos || file.path.starts_with('/'))
        __builtin_trap();
      paths.push_back(file.path);
    }
    for (const char* name : {"o/n", "o/n:Q8_0"}) {
      attempt([&] { augur::choose_files(paths, augur::HubModel::parse(name)); });
    }
  });
  return 0;
}
